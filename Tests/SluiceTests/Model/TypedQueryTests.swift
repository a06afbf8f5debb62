import Sluice
import SluiceModel
import SluiceQuery
import Testing

#if SLUICE_MACROS
    /// A typed query is the same query as its text.
    @Suite struct TypedQueryTests {
        let store: Store
        let cars: Results<Car>
        let ada = User(name: "Ada")

        init() async throws {
            let models: [any Model.Type] = [Car.self, User.self, Dealer.self, Counter.self, MacroEverything.self]
            store = try await Store.open(StoreConfiguration(models: models))
            cars = store.objects(Car.self)
        }

        var pairs: [(Results<Car>, String)] {
            [
                (cars, "Car"),
                (
                    cars.where { $0.price < 10_000 && $0.name == "Toyota" },
                    "Car WHERE price < 10000 AND name == 'Toyota'"
                ),
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
                (cars.where { $0.price * 1.19 + 500 < 12_000 }, "Car WHERE price * 1.19 + 500 < 12000"),
                (cars.where { 2000 - $0.year > $0.views / 2 }, "Car WHERE 2000 - year > views / 2"),
                (cars.where { $0.views + $0.year * 2 == 3 }, "Car WHERE views + year * 2 == 3"),
                (cars.where { $0.owners.average(of: \.age) > 30 }, "Car WHERE owners.@avg.age > 30"),
                (cars.where { $0.owners.sum(of: \.age) > 30 }, "Car WHERE owners.@sum.age > 30"),
                (
                    cars.where { $0.owners.max(of: \.age) > 30 && $0.owners.min(of: \.age) == nil },
                    "Car WHERE owners.@max.age > 30 AND owners.@min.age == NULL"
                ),
                (
                    cars.where { $0.owners.count { $0.age > 60 && $0.name.hasPrefix("A") } > 1 },
                    "Car WHERE SUBQUERY(owners, $x, $x.age > 60 AND $x.name BEGINSWITH 'A').@count > 1"
                ),
                (
                    cars.where { car in
                        car.owners.contains { $0.age > car.views && $0.friends.count { $0.age < 5 } == 0 }
                    },
                    "Car WHERE SUBQUERY(owners, $x, $x.age > views AND SUBQUERY($x.friends, $y, $y.age < 5).@count == 0).@count > 0"
                ),
                (
                    cars.where { $0.owners.allSatisfy { $0.age >= 18 } },
                    "Car WHERE SUBQUERY(owners, $x, NOT $x.age >= 18).@count == 0"
                ),
                (cars.where { $0.owners.isEmpty }, "Car WHERE owners.@count == 0"),
                (cars.where { $0.imageURLs[0] == "u" }, "Car WHERE imageURLs[0] == 'u'"),
                (
                    cars.where { $0.imageURLs.first() == "u" && $0.imageURLs.last() != nil },
                    "Car WHERE imageURLs[FIRST] == 'u' AND imageURLs[LAST] != NULL"
                ),
                (cars.where { $0.owners[1].age > 5 }, "Car WHERE owners[1].age > 5"),
                (cars.where { $0.owners.last().age > 5 }, "Car WHERE owners[LAST].age > 5"),
                (cars.where { $0.imageURLs == ["u", "v"] }, "Car WHERE imageURLs == {'u', 'v'}"),
                (cars.where { $0.name.byteCount > 5 }, "Car WHERE name.@count > 5"),
                (cars.where { $0.owners.cars.count > 2 }, "Car WHERE ANY owners.@links.Car.owners.@count > 2"),
                (cars.where { $0.dealer.stock.any.price > 5 }, "Car WHERE ANY dealer.@links.Car.dealer.price > 5"),
                (
                    cars.where { $0.dealer.stock.sum(of: \.price) > 5 },
                    "Car WHERE dealer.@links.Car.dealer.@sum.price > 5"
                ),
                (cars.where { $0.backlinkCount == 0 }, "Car WHERE @links.@count == 0"),
                (
                    cars.where { $0.price < 5 }.where { $0.year > 2000 }.or { $0.views == 0 },
                    "Car WHERE (price < 5 AND year > 2000) OR views == 0"
                ),
                (cars.or { $0.views == 0 }, "Car"),
                (
                    cars.sorted(by: \.price).distinct(by: \.name, \.year).limit(3),
                    "Car SORT(price ASC) DISTINCT(name, year) LIMIT(3)"
                ),
                (cars.distinct(by: "name"), "Car DISTINCT(name)"),
                (cars.filter("name == $0 AND price < $1", "Toyota", 10), "Car WHERE name == 'Toyota' AND price < 10"),
                (cars.filter("dealer == $0", nil), "Car WHERE dealer == NULL"),
                (cars.filter("year IN $0", [1, 2]), "Car WHERE year IN {1, 2}"),
                (cars.filter("name == 'a'").where { $0.year == 1 }, "Car WHERE name == 'a' AND year == 1"),
                (cars.filter("name == 'a' SORT(year DESC)").limit(2), "Car WHERE name == 'a' SORT(year DESC) LIMIT(2)"),
                (
                    cars.sorted(by: .descending(\.price), .ascending(\.dealer.city), .descending("year")),
                    "Car SORT(price DESC, dealer.city ASC, year DESC)"
                ),
                (cars.sorted(by: \.name, \.dealer.city, \.price), "Car SORT(name ASC, dealer.city ASC, price ASC)"),
            ]
        }

        @Test func theTypedFormHasTheCanonicalTextOfTheWritten() throws {
            for (typed, text) in pairs {
                let written = try store.records(text).canonicalText
                #expect(try typed.canonicalText == written, "\(text)")
            }
        }

        @Test(arguments: [
            (
                "cars.@count > 1 AND ANY cars.price > 5",
                "@links.Car.owners.@count > 1 AND ANY @links.Car.owners.price > 5"
            ),
            (
                "ANY admirers.cars.dealer.city == 'Ulm'",
                "ANY @links.User.friends.@links.Car.owners.dealer.city == 'Ulm'"
            ),
            (
                "SUBQUERY(cars, $x, $x.price > 5).@count > 0",
                "SUBQUERY(@links.Car.owners, $x, $x.price > 5).@count > 0"
            ),
        ]) func inQueriesInverseRelationshipsStandForBacklinks(text: String, meaning: String) throws {
            let users = store.objects(User.self)
            let query = try users.filter(text).canonicalText
            #expect(try query == users.filter(meaning).canonicalText)
            // Without the models the names are unknown; with them the error suggests the near miss.
            let bare = try Schema([
                Car.modelDefinition.classSchema, User.modelDefinition.classSchema, Dealer.modelDefinition.classSchema,
            ])
            #expect(throws: QueryError.self) { try Query.parse("User WHERE " + text, schema: bare) }
            let error = #expect(throws: QueryError.self) { try users.filter("ANY carz.price > 5").canonicalText }
            #expect(error?.message.contains("did you mean 'cars'") == true)
        }

        @Test func anObjectOfAKeylessClassIsNamedByItsID() throws {
            let typed = try cars.where { $0.owners.contains(ada) }.canonicalText
            #expect(try typed == cars.filter("ANY owners == $0", Link(ada)).canonicalText)
            #expect(typed.contains(ada.objectID.description))
        }

        @Test func renamedPropertiesGoByTheirStoredNames() throws {
            let query = store.objects(MacroEverything.self).where {
                $0.renamed == 1 && $0.level == nil && $0.level != .high
            }
            let text = "Everything WHERE plain_name == 1 AND level == NULL AND level != 2"
            #expect(try query.canonicalText == store.records(text).canonicalText)
        }

        @Test func aValueOfAMapIsReachedByItsKey() throws {
            let query = store.objects(MacroEverything.self).where { $0.scores["a b"] > 1 && $0.scores["c"] == nil }
            let text = "Everything WHERE scores['a b'] > 1 AND scores['c'] == NULL"
            #expect(try query.canonicalText == store.records(text).canonicalText)
        }

        @Test func aPropertyNamedLikeAMemberOfColumnsIsReached() throws {
            let query = store.objects(Counter.self).where {
                $0.count == 1 && $0.path == "p" && $0.any == 2 && $0.contains == "c"
            }
            let text = "Counter WHERE count == 1 AND path == 'p' AND any == 2 AND contains == 'c'"
            #expect(try query.canonicalText == store.records(text).canonicalText)
        }

        @Test func whatIsNoPropertyOfTheClassIsRefusedByName() throws {
            let error = #expect(throws: QueryError.self) {
                try cars.where { $0.cached == 7 }.fetch()
            }
            #expect(error?.code == .unknownProperty)
            #expect(error?.message.contains("cached") == true)
        }

        @Test func aFilterThatDoesNotParseFailsWhereTheQueryIsUsed() throws {
            let query = cars.filter("name ==").where { $0.year == 1 }.filter("also bad (")
            let error = #expect(throws: QueryError.self) { try query.fetch() }
            #expect(error?.code == .syntax)
            #expect(error?.position == 7)
        }

        @Test func recordsAreQueriedByText() throws {
            let query = store.records(ofClass: "Car").filter("year == $0", 3).sorted(by: "price").limit(1)
            let text = "Car WHERE year == 3 SORT(price ASC) LIMIT(1)"
            #expect(try query.canonicalText == store.records(text).canonicalText)
        }
    }

    @Model struct Counter {
        var count = 0
        var path = ""
        var any = 0
        var contains = ""
    }
#endif
