import Sluice
import Testing

#if SLUICE_MACROS
    /// A Boolean property is a condition by itself, as in text.
    @Suite struct TruthTests {
        @Model struct Shop {
            @PrimaryKey var code: String
            var isOpen = false
            var isOnline: Bool?
            var rating = 0
            var head: Link<Shop>?
            var branches: Links<Shop> = []
        }

        private let store: Store
        private let shops: Results<Shop>

        init() async throws {
            store = try await Store.open(StoreConfiguration(models: [Shop.self]))
            shops = store.objects(Shop.self)
        }

        private var pairs: [(Results<Shop>, String)] {
            [
                (shops.where { $0.isOpen }, "Shop WHERE isOpen"), (shops.where { !$0.isOpen }, "Shop WHERE NOT isOpen"),
                (shops.where { $0.isOnline }, "Shop WHERE isOnline"),
                (shops.where { !$0.isOnline }, "Shop WHERE NOT isOnline"),
                (shops.where { $0.isOpen && $0.rating > 3 }, "Shop WHERE isOpen AND rating > 3"),
                (shops.where { $0.rating > 3 && $0.isOpen }, "Shop WHERE rating > 3 AND isOpen"),
                (shops.where { $0.isOpen && $0.isOnline }, "Shop WHERE isOpen AND isOnline"),
                (shops.where { $0.isOpen || $0.rating > 3 }, "Shop WHERE isOpen OR rating > 3"),
                (shops.where { $0.rating > 3 || $0.isOpen }, "Shop WHERE rating > 3 OR isOpen"),
                (shops.where { $0.isOpen || $0.isOnline }, "Shop WHERE isOpen OR isOnline"),
                (shops.where { !($0.isOpen && !$0.isOnline) }, "Shop WHERE NOT (isOpen AND NOT isOnline)"),
                (
                    shops.where { $0.rating > 1 && !$0.isOpen && $0.isOnline && $0.rating < 9 && $0.head.isOpen },
                    "Shop WHERE rating > 1 AND NOT isOpen AND isOnline AND rating < 9 AND head.isOpen"
                ),
                (shops.where { $0.head.isOpen }, "Shop WHERE head.isOpen"),
                (shops.where { $0.branches.all.isOpen }, "Shop WHERE ALL branches.isOpen"),
                (shops.where { $0.rating > 3 }.or { $0.isOpen }, "Shop WHERE rating > 3 OR isOpen"),
                (
                    shops.where { $0.branches.count { $0.isOpen } > 1 },
                    "Shop WHERE SUBQUERY(branches, $x, $x.isOpen).@count > 1"
                ),
                (
                    shops.where { $0.branches.contains { $0.isOpen } },
                    "Shop WHERE SUBQUERY(branches, $x, $x.isOpen).@count > 0"
                ),
                (
                    shops.where { $0.branches.allSatisfy { $0.isOpen } },
                    "Shop WHERE SUBQUERY(branches, $x, NOT $x.isOpen).@count == 0"
                ),
                (shops.where { $0.isOpen == true }, "Shop WHERE isOpen"),
            ]
        }

        @Test func aBooleanPropertyAloneIsTheTextsCondition() throws {
            for (typed, text) in pairs {
                let written = try store.records(text).canonicalText
                #expect(try typed.canonicalText == written, "\(text)")
            }
        }
    }
#endif
