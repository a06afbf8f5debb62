#if SLUICE_MACROS
    import Foundation
    import Sluice
    import Testing

    /// The classes that docs/query-language.md speaks of.
    enum QueryGuide {
        @Model struct Car {
            @PrimaryKey var vin: String
            var name = ""
            var price = 0.0
            var year = 0
            var isNew = false
            var bought = Date(timeIntervalSince1970: 0)
            var dealer: Link<Dealer>?
            var owners: Links<Owner> = []
            var tags: [String] = []
            var sizes: [String: Double] = [:]
        }

        @Model struct Dealer {
            @PrimaryKey var code: String
            var city: String?
        }
    }

    /// The page's own model, beside the other properties that its queries need.
    extension QueryGuide {
        @Model struct Owner {
            @PrimaryKey var id: String
            var name = ""
            var age = 0
            var friends: Links<Owner> = []
            @Inverse(\Car.owners) var cars: Backlinks<Car>
        }
    }

    /// What docs/query-language.md says of typed queries, compiled and compared with the text beside it.
    @Suite struct QueryGuideTests {
        private typealias Car = QueryGuide.Car
        private typealias Owner = QueryGuide.Owner
        private let store: Store
        private let dealer = QueryGuide.Dealer(code: "D1")

        init() async throws {
            store = try await Store.open(StoreConfiguration(models: [Car.self, QueryGuide.Dealer.self, Owner.self]))
        }

        private func expect<Element>(
            _ typed: Results<Element>, _ text: String, at location: SourceLocation = #_sourceLocation
        ) throws where Element: Model {
            let written = store.objects(Element.self).filter(text)
            #expect(try typed.canonicalText == written.canonicalText, sourceLocation: location)
        }

        @Test func everyRowOfThePageMeansItsText() throws {
            let cars = store.objects(Car.self)
            try expect(
                cars.where { $0.price < 9_000 && $0.name == "Toyota" }, "price < 9000 AND name == 'Toyota'")
            try expect(cars.where { $0.isNew }, "isNew")
            try expect(cars.where { !$0.isNew && $0.price > 5 }, "NOT isNew AND price > 5")
            try expect(cars.where { $0.dealer.city == nil }, "dealer.city == NULL")
            try expect(cars.where { $0.dealer == dealer }, "dealer == 'D1'")
            try expect(cars.where { $0.year.in([1999, 2000]) }, "year IN {1999, 2000}")
            try expect(cars.where { $0.price.between(1...5) }, "price BETWEEN {1, 5}")
            try expect(cars.where { $0.bought < QueryTime.now - .seconds(60) }, "bought < $now - 1m")
            try expect(
                cars.where { $0.bought.between(.now - .seconds(60), and: .now) }, "bought BETWEEN {$now - 1m, $now}")
            try expect(
                cars.where { QueryTime.now >= $0.bought || QueryTime.now < $0.bought },
                "bought <= $now OR bought > $now")
            try expect(cars.where { $0.name.hasPrefix("T", caseInsensitive: true) }, "name BEGINSWITH[c] 'T'")
            try expect(
                cars.where { $0.name.hasSuffix("a") && $0.name.contains("b") },
                "name ENDSWITH 'a' AND name CONTAINS 'b'")
            try expect(
                cars.where { $0.name.like("T?y*") && $0.name.equals("kia", caseInsensitive: true) },
                "name LIKE 'T?y*' AND name ==[c] 'kia'")
            try expect(cars.where { $0.owners.all.age >= 18 }, "ALL owners.age >= 18")
            try expect(
                cars.where { $0.owners.any.age >= 18 && $0.owners.none.age >= 90 },
                "ANY owners.age >= 18 AND NONE owners.age >= 90")
            try expect(cars.where { $0.owners.count > 2 }, "owners.@count > 2")
            try expect(cars.where { $0.owners.isEmpty }, "owners.@count == 0")
            try expect(cars.where { $0.sizes["left"] > 2 }, "sizes['left'] > 2")
            try expect(cars.where { $0.sizes.keys().any == "left" }, "ANY sizes.@keys == 'left'")
            try expect(
                cars.where { $0.tags[0] == "a" && $0.tags.first() == "b" }, "tags[0] == 'a' AND tags[FIRST] == 'b'")
            try expect(cars.where { $0.owners.last().age > 5 }, "owners[LAST].age > 5")
            try expect(cars.where { $0.tags == ["red", "cheap"] }, "tags == {'red', 'cheap'}")
            try expect(cars.where { $0.price * 1.19 + 500 < 12_000 }, "price * 1.19 + 500 < 12000")
            try expect(cars.where { $0.owners.average(of: \.age) < 25 }, "owners.@avg.age < 25")
            try expect(
                cars.where { $0.owners.sum(of: \.age) > $0.owners.min(of: \.age) }, "owners.@sum.age > owners.@min.age")
            try expect(cars.where { $0.owners.max(of: \.age) == 5 }, "owners.@max.age == 5")
            try expect(
                cars.where { $0.owners.count { $0.age > 60 } > 1 }, "SUBQUERY(owners, $x, $x.age > 60).@count > 1")
            try expect(
                cars.where { $0.owners.contains { $0.age > 60 && $0.name == "Ann" } },
                "SUBQUERY(owners, $x, $x.age > 60 AND $x.name == 'Ann').@count > 0")
            try expect(
                cars.where { $0.owners.allSatisfy { $0.age >= 18 } },
                "SUBQUERY(owners, $x, NOT $x.age >= 18).@count == 0")
            try expect(cars.where { $0.backlinkCount == 0 }, "@links.@count == 0")
            try expect(cars.sorted(by: .descending(\.price), .ascending(\.name)), "SORT(price DESC, name ASC)")
            try expect(cars.sorted(by: \.price).sorted(by: \.name), "SORT(price ASC, name ASC)")
            try expect(
                cars.sorted(by: \.price).distinct(by: \.name).limit(3), "SORT(price ASC) DISTINCT(name) LIMIT(3)")
            try expect(
                cars.sorted(by: \.dealer.city, ascending: false).limit(20).excluding(\.owners.friends),
                "SORT(dealer.city DESC) LIMIT(20) EXCLUDE(owners.friends)")
            try expect(cars.where { $0.price > 9_000 }.limit(20).withTotal(), "price > 9000 LIMIT(20) TOTAL")
            #expect(
                try cars.aggregate { ($0.count, $0.average(\.price), $0.max(\.year)) }.canonicalText
                    == cars.filter("AGGREGATE(@count, @avg.price, @max.year)").canonicalText)
            let top = cars.grouped(by: \.dealer) { $0.count }.sorted(by: { $0 }, ascending: false).limit(5)
            #expect(
                try top.canonicalText
                    == cars.filter("GROUP(dealer) AGGREGATE(@count) SORT(@count DESC) LIMIT(5)").canonicalText)
        }

        @Test(arguments: [true, false]) func aQueryIsPutTogetherAtRunTime(onlyNew: Bool) throws {
            var found = store.objects(Car.self).where { $0.price < 10_000 }
            if onlyNew { found = found.where { $0.isNew } }
            found = found.or { $0.dealer.city == "Ulm" }
            try expect(found, "\(onlyNew ? "price < 10000 AND isNew" : "price < 10000") OR dealer.city == 'Ulm'")
        }

        @Test func anInverseRelationshipHasANameInQueries() throws {
            let collectors = store.objects(Owner.self).where { $0.cars.count > 3 && $0.cars.any.price > 50_000 }
            let same = store.objects(Owner.self).filter("cars.@count > 3 AND ANY cars.price > 50000")
            for car in try collectors.first()?.cars.fetchAll() ?? [] { print(car.name) }
            #expect(try collectors.canonicalText == same.canonicalText)
        }

        /// The rows of the page's table are in this file, both sides of each.
        @Test func everyRowOfThePageIsComparedHere() throws {
            let source = try String(contentsOfFile: #filePath, encoding: .utf8)
            let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
            let page = try String(contentsOfFile: "\(root)/docs/query-language.md", encoding: .utf8)
            let section = try #require(page.components(separatedBy: "\n## From Swift\n").last)
            let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
            try #require(rows.count >= 20)
            for row in rows {
                for span in row.components(separatedBy: "`").enumerated().filter({ $0.offset % 2 == 1 }).map(\.element)
                {
                    #expect(source.contains(span.replacing("(of:)", with: "(of: ")), "\(span) is not compared")
                }
            }
        }
    }
#endif
