import Sluice
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// Without a network, a store's own write of a linked object moves the results that the condition or the sort reads
    /// it for: observers see what a fetch finds.
    @Suite(.timeLimit(.minutes(10))) struct LinkedWriteTests {
        @Model struct Shop {
            @PrimaryKey var id: String
            var name = ""
            var rank: Int?
            var isOpen = true
            var parent: Link<Shop>?
        }

        @Model struct Ware {
            @PrimaryKey var id: String
            var n = 0
            var shop: Link<Shop>?
            var shops: Links<Shop> = []
        }

        private static let queries = [
            "shop.isOpen == true", "NOT shop.isOpen == true", "ANY shops.isOpen == false",
            "shop.parent.isOpen == true", "TRUEPREDICATE SORT(shop.rank DESC, n ASC)",
            "TRUEPREDICATE SORT(shop.rank ASC, n ASC) LIMIT(3)", "shops.@sum.rank > 2", "shop == 's4'", "shop == NULL",
            "TRUEPREDICATE SORT(n ASC) DISTINCT(shop.name)", "shop.name == 'x' OR n == 5",
            "SUBQUERY(shops, $shop, $shop.isOpen == false).@count > 0",
        ]

        /// What an observer was shown last.
        private final class Shown: Sendable {
            private let ids = Mutex<[String]>([])
            var all: [String] { ids.withLock { $0 } }
            func note(_ change: Change<Ware>) throws {
                let now = change.results.map(\.id)
                ids.withLock { $0 = now }
            }
        }

        private let server: TestServer
        private let author: Store
        private let reader: Store
        private let shown: [Shown]
        private let tokens: [NotificationToken]

        init() async throws {
            server = try TestServer()
            author = try await server.open([Ware.self, Shop.self])
            reader = try await server.open([Ware.self, Shop.self])
            try await author.write { tx in
                try tx.insert(Shop(id: "s1", name: "x", rank: 1, isOpen: true))
                try tx.insert(Shop(id: "s2", name: "y", rank: 2, isOpen: false))
                try tx.insert(Shop(id: "s3", name: "z", rank: 3, isOpen: true, parent: Link(key: "s1")))
                for n in 0..<6 {
                    let shop = "s\(n % 3 + 1)"
                    try tx.insert(Ware(id: "w\(n)", n: n, shop: Link(key: shop), shops: [Link(key: shop)]))
                }
            }
            try await author.uploaded()
            var tokens = [
                try reader.objects(Ware.self).observe { _ in }, try reader.objects(Shop.self).observe { _ in },
            ]
            var shown: [Shown] = []
            for query in Self.queries {
                let one = Shown()
                tokens.append(try reader.objects(Ware.self).filter(query).observe { try? one.note($0) })
                shown.append(one)
            }
            self.shown = shown
            self.tokens = tokens
            try await server.settled()
        }

        /// Compares what each observer was shown with what a fetch finds, and where the server has named all that can
        /// match, with what is on disk.
        private func compare(_ when: String) async throws {
            try await server.settled()
            for (query, shown) in zip(Self.queries, shown) {
                let observed = reader.objects(Ware.self).filter(query)
                let found = try observed.fetch().map(\.id)
                #expect(shown.all == found, "\(when): \(query) is shown otherwise than fetched")
                #expect(try observed.count() == found.count, "\(when): \(query) is counted otherwise")
                // Of a window and of distinct values the server has named the first ones only.
                guard !query.contains("LIMIT"), !query.contains("DISTINCT") else { continue }
                // Nobody observes it in this form, so it is answered from the disk alone.
                let alone = reader.objects(Ware.self).filter(query + " LIMIT(1000)")
                #expect(try alone.fetch().map(\.id) == found, "\(when): \(query) is not what the disk has")
            }
        }

        @Test func whatIsWrittenToLinkedObjectsMovesTheResultsThatReadThem() async throws {
            try await compare("at first")
            server.cut(reader)
            let steps: [(String, @Sendable (borrowing WriteTransaction) throws -> Void)] = [
                (
                    "s1 is closed",
                    { tx in
                        try tx.update(try #require(try tx.object(Shop.self, key: "s1"))) {
                            $0.isOpen = false
                            $0.rank = 9
                            $0.name = "z"
                        }
                    }
                ),
                (
                    "s2 is opened",
                    { tx in
                        try tx.update(try #require(try tx.object(Shop.self, key: "s2"))) {
                            $0.isOpen = true
                            $0.rank = nil
                        }
                    }
                ),
                (
                    "s3 has no parent",
                    { tx in
                        try tx.update(try #require(try tx.object(Shop.self, key: "s3"))) { $0.parent = nil }
                    }
                ),
                ("s3 is deleted", { try $0.delete(Shop.self, key: "s3") }),
                (
                    "s4 is made",
                    { tx in
                        try tx.insert(Shop(id: "s4"))
                        try tx.update(try #require(try tx.object(Ware.self, key: "w0"))) { $0.shop = Link(key: "s4") }
                    }
                ),
                (
                    "s1 is as before",
                    { tx in
                        try tx.update(try #require(try tx.object(Shop.self, key: "s1"))) {
                            $0.isOpen = true
                            $0.rank = 1
                            $0.name = "x"
                        }
                    }
                ),
            ]
            for (when, step) in steps {
                try await reader.write { try step($0) }
                try await compare(when)
            }
            server.restore(reader)
            try await reader.uploaded()
            try await compare("online again")
        }

        /// Within a write, results are read with what it has written so far.
        @Test func aWriteReadsWhatItHasWrittenToLinkedObjects() async throws {
            server.cut(reader)
            let results = reader.objects(Ware.self).filter("shop.isOpen == true")
            try await reader.write { tx in
                try tx.update(try #require(try tx.object(Shop.self, key: "s1"))) { $0.isOpen = false }
                #expect(
                    try tx.objects(Ware.self).filter("shop.isOpen == true").fetch().map(\.id).sorted() == ["w2", "w5"])
            }
            #expect(try results.fetch().map(\.id).sorted() == ["w2", "w5"])
        }

        /// A write that the server refuses gives back what the server has named.
        @Test func aRefusedWriteOfALinkedObjectLeavesWhatTheServerNamed() async throws {
            server.cut(reader)
            try await reader.write { tx in
                try tx.update(try #require(try tx.object(Shop.self, key: "s1"))) { $0.isOpen = false }
            }
            try await compare("closed here")
            server.rejectWrites(to: Shop.self, because: "no")
            server.restore(reader)
            try await compare("refused")
        }
    }
#endif
