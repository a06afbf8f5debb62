import Sluice
import SluiceModel
import SluiceQuery
import Testing

#if SLUICE_MACROS
    /// A typed query and its text are the same query.
    @Suite struct TypedQueryTests {
        let schema: Schema
        static let cars = QueryDescription(Car.self)
        static let ada = User(name: "Ada")

        static let pairs: [(QueryDescription<Car>, String)] = [
            (cars, "Car"),
            (cars.where { $0.price < 10_000 && $0.name == "Toyota" }, "Car WHERE price < 10000 AND name == 'Toyota'"),
            (
                cars.where { $0.price < 10_000 }.where { $0.name == "Toyota" },
                "Car WHERE price < 10000 AND name == 'Toyota'"
            ),
            (cars.where { $0.views != 3 || !($0.year >= 2000) }, "Car WHERE views != 3 OR NOT year >= 2000"),
            (cars.where { $0.views > 3 && $0.views <= 5 }, "Car WHERE views > 3 AND views <= 5"),
            (cars.where { $0.colour == .green }, "Car WHERE colour == 'green'"),
            (cars.where { $0.year.in([2000, 2001]) }, "Car WHERE year IN {2000, 2001}"),
            (cars.where { $0.price.between(1...2.5) }, "Car WHERE price BETWEEN {1, 2.5}"),
            (cars.where { $0.name.hasPrefix("T") }, "Car WHERE name BEGINSWITH 'T'"),
            (cars.where { $0.name.hasSuffix("a", caseInsensitive: true) }, "Car WHERE name ENDSWITH[c] 'a'"),
            (cars.where { $0.name.contains("oy", caseInsensitive: true) }, "Car WHERE name CONTAINS[c] 'oy'"),
            (cars.where { $0.name.like("T?y*") }, "Car WHERE name LIKE 'T?y*'"),
            (cars.where { $0.name.equals("toyota") }, "Car WHERE name ==[c] 'toyota'"),
            (cars.where { $0.dealer == nil }, "Car WHERE dealer == NULL"),
            (cars.where { $0.dealer != nil }, "Car WHERE dealer != NULL"),
            (cars.where { $0.dealer.city == "Ulm" }, "Car WHERE dealer.city == 'Ulm'"),
            (cars.where { $0.dealer.city == nil }, "Car WHERE dealer.city == NULL"),
            (cars.where { $0.dealer.code == nil }, "Car WHERE dealer.code == NULL"),
            (cars.where { $0.dealer.owner.age > 60 }, "Car WHERE dealer.owner.age > 60"),
            (cars.where { $0.dealer == Dealer(code: "D") }, "Car WHERE dealer == obj('Dealer', 'D')"),
            (cars.where { $0.dealer == Link(key: "D") }, "Car WHERE dealer == obj('Dealer', 'D')"),
            (cars.where { $0.owners.name == "x" }, "Car WHERE ANY owners.name == 'x'"),
            (cars.where { $0.owners.any.name == "x" }, "Car WHERE ANY owners.name == 'x'"),
            (cars.where { $0.owners.all.age > 18 }, "Car WHERE ALL owners.age > 18"),
            (cars.where { $0.owners.none.age > 18 }, "Car WHERE NONE owners.age > 18"),
            (cars.where { $0.owners.count > 2 }, "Car WHERE owners.@count > 2"),
            (cars.where { $0.views == $0.year && $0.views < $0.year }, "Car WHERE views == year AND views < year"),
            (cars.where { $0.views >= $0.year || $0.views != $0.year }, "Car WHERE views >= year OR views != year"),
            (cars.where { $0.imageURLs.contains("u") }, "Car WHERE ANY imageURLs == 'u'"),
            (cars.where { $0.imageURLs.any.hasPrefix("u") }, "Car WHERE ANY imageURLs BEGINSWITH 'u'"),
            (
                cars.where { $0.name == "Toyota" }.sorted(by: \.price).limit(20).excluding(\.owners),
                "Car WHERE name == 'Toyota' SORT(price ASC) LIMIT(20) EXCLUDE(owners)"
            ),
            (
                cars.sorted(by: \.dealer.city, ascending: false).excluding(\.owners.friends, \.views),
                "Car WHERE TRUEPREDICATE SORT(dealer.city DESC) EXCLUDE(owners.friends, views)"
            ),
            (
                cars.sorted(by: "dealer.city", ascending: false).excluding("owners.friends", "views"),
                "Car WHERE TRUEPREDICATE SORT(dealer.city DESC) EXCLUDE(owners.friends, views)"
            ),
            (cars.filter("name == $0 AND price < $1", "Toyota", 10), "Car WHERE name == 'Toyota' AND price < 10"),
            (cars.filter("dealer == $0", nil), "Car WHERE dealer == NULL"),
            (cars.filter("year IN $0", [1, 2]), "Car WHERE year IN {1, 2}"),
            (cars.filter("name == 'a'").where { $0.year == 1 }, "Car WHERE name == 'a' AND year == 1"),
            (cars.filter("name == 'a' SORT(year DESC)").limit(2), "Car WHERE name == 'a' SORT(year DESC) LIMIT(2)"),
        ]

        init() throws {
            schema = try Schema([
                Car.modelDefinition.classSchema, User.modelDefinition.classSchema, Dealer.modelDefinition.classSchema,
                Counter.modelDefinition.classSchema,
            ])
        }

        @Test(arguments: pairs.indices) func theTypedFormHasTheCanonicalTextOfTheWritten(index: Int) throws {
            let (typed, text) = Self.pairs[index]
            let written = try Query.parse(text, schema: schema)
            #expect(try typed.query(in: schema).canonicalText == written.canonicalText)
        }

        @Test func anObjectOfAKeylessClassIsNamedByItsID() throws {
            let typed = Self.cars.where { $0.owners.contains(Self.ada) }
            let argument = Self.cars.filter("ANY owners == $0", Link(Self.ada))
            #expect(try typed.query(in: schema) == argument.query(in: schema))
            #expect(try typed.query(in: schema).canonicalText.contains(Self.ada.objectID.description))
        }

        @Test func renamedPropertiesGoByTheirStoredNames() throws {
            let schema = try Schema([MacroEverything.modelDefinition.classSchema, User.modelDefinition.classSchema])
            let query = QueryDescription(MacroEverything.self).where {
                $0.renamed == 1 && $0.level == nil && $0.level != .high
            }
            let text = "Everything WHERE plain_name == 1 AND level == NULL AND level != 2"
            #expect(try query.query(in: schema).canonicalText == Query.parse(text, schema: schema).canonicalText)
        }

        @Test func aValueOfAMapIsReachedByItsKey() throws {
            let schema = try Schema([MacroEverything.modelDefinition.classSchema, User.modelDefinition.classSchema])
            let query = QueryDescription(MacroEverything.self).where { $0.scores["a b"] > 1 && $0.scores["c"] == nil }
            let text = "Everything WHERE scores['a b'] > 1 AND scores['c'] == NULL"
            #expect(try query.query(in: schema).canonicalText == Query.parse(text, schema: schema).canonicalText)
        }

        @Test func aPropertyNamedLikeAMemberOfColumnsIsReached() throws {
            let query = QueryDescription(Counter.self).where {
                $0.count == 1 && $0.path == "p" && $0.any == 2 && $0.contains == "c"
            }
            let text = "Counter WHERE count == 1 AND path == 'p' AND any == 2 AND contains == 'c'"
            #expect(
                try query.query(in: schema).canonicalText == Query.parse(text, schema: schema).canonicalText)
        }

        @Test func whatIsNoPropertyOfTheClassIsRefusedByName() throws {
            let error = #expect(throws: QueryError.self) {
                try Self.cars.where { $0.cached == 7 }.query(in: schema)
            }
            #expect(error?.code == .unknownProperty)
            #expect(error?.message.contains("cached") == true)
        }

        @Test func aFilterThatDoesNotParseFailsWhereTheQueryIsUsed() throws {
            let query = Self.cars.filter("name ==").where { $0.year == 1 }.filter("also bad (")
            let error = #expect(throws: QueryError.self) { try query.query(in: schema) }
            #expect(error?.code == .syntax)
            #expect(error?.position == 7)
        }

        @Test func recordsAreQueriedByText() throws {
            let query = QueryDescription<Record>(className: "Car").filter("year == $0", 3).sorted(by: "price").limit(1)
            let text = "Car WHERE year == 3 SORT(price ASC) LIMIT(1)"
            #expect(try query.query(in: schema) == Query.parse(text, schema: schema))
        }
    }

    @Model struct Counter {
        var count = 0
        var path = ""
        var any = 0
        var contains = ""
    }
#endif
