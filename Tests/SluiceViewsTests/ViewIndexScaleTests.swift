import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceViews

/// A change finds only the views that it concerns, even if many others differ from them only in constants.
@Suite(.ownThread) struct ViewIndexScaleTests {
    private let source = MemorySource()
    private let flight = TestSchema.object(1, ofClass: TestSchema.flight)
    private let plane = TestSchema.object(1, ofClass: TestSchema.plane)

    /// An index of `count` views. `text` makes the query of a view from the view's number.
    private func index(_ count: Int, _ text: (Int) -> String) throws -> ViewIndex {
        let index = ViewIndex(schema: TestSchema.schema)
        for number in 0..<count {
            let view = LiveView(try TestSchema.query(text(number)), schema: TestSchema.schema)
            try view.activate(in: source)
            index.insert(view)
        }
        return index
    }

    private func found(_ index: ViewIndex, _ object: ObjectRef, _ values: [String: Value]) throws -> [String] {
        let old = source.row(object)
        let new = TestSchema.row(object, values)
        source.set(object, new)
        let commit = CommitDelta(changes: [ObjectDelta(object: object, old: old, new: new, authors: [])], version: 1)
        let before = OldStateSource(commit, over: source, schema: source.schema)
        return try index.candidates(for: commit, in: source, before: before).map(\.query.canonicalText)
    }

    @Test(arguments: [100, 400])
    func aChangeOfOneObjectFindsTheViewOfItAlone(count: Int) throws {
        let index = try index(count) { number in
            let object = TestSchema.object(number, ofClass: TestSchema.flight)
            return "OBJECT(\(Identity(className: "Flight", key: object.key).objectID))"
        }
        #expect(try found(index, flight, ["delay": .int(1)]).count == 1)
        #expect(try found(index, flight, ["delay": .int(2)]).count == 1)
    }

    @Test(arguments: [100, 400])
    func alternativesOverTwoPropertiesAreFoundByEither(count: Int) throws {
        let index = try index(count) { "Flight WHERE delay == \($0) OR carrier == 'c\($0)'" }
        #expect(try found(index, flight, ["delay": .int(7), "carrier": .string("c9")]).count == 2)
        #expect(try found(index, flight, ["delay": .int(8), "carrier": .string("c9")]).count == 3)
    }

    @Test(arguments: [100, 400])
    func whereAllShareOneConditionAnotherTellsThemApart(count: Int) throws {
        let index = try index(count) { "Flight WHERE carrier == 'a' AND delay BETWEEN {\($0 * 10), \($0 * 10 + 9)}" }
        // The first views are filed under the carrier, before it turns out that all views share it.
        #expect(try found(index, flight, ["carrier": .string("a"), "delay": .int(995)]).count <= 10)
        #expect(try found(index, flight, ["carrier": .string("b"), "delay": .int(995)]).count <= 10)
    }

    @Test(arguments: [100, 400])
    func partsOfATextTellViewsApart(count: Int) throws {
        let index = try index(count) { "Flight WHERE carrier CONTAINS '<\($0)>' EXCLUDE(plane, origin)" }
        #expect(try found(index, flight, ["carrier": .string("a<7>b")]).count == 1)
        #expect(try found(index, flight, ["carrier": .string("a<8>b<9>")]).count == 3)
        let long = String(repeating: "a", count: PartTable.valueByteCountMax + 1)
        #expect(try found(index, flight, ["carrier": .string(long)]).count == count)
    }

    @Test(arguments: [
        "==[c] 'ÉA%'", "BEGINSWITH[c] 'ÉA%.'", "ENDSWITH[c] '.ÉA%'", "CONTAINS[c] '<ÉA%>'", "LIKE[c] '*<ÉA%?'",
    ])
    func textsWhoseCaseDoesNotCountTellViewsApart(comparison: String) throws {
        let index = try index(200) { number in
            "Flight WHERE carrier \(comparison.replacing("%", with: "\(number)")) EXCLUDE(plane, origin)"
        }
        for text in ["éa7", "Éa7.x", "x.éA7", "a<éa7>"] {
            let found = try found(index, flight, ["carrier": .string(text)])
            #expect(found.count <= 2)
            let matching = try TestSchema.query("Flight WHERE carrier \(comparison.replacing("%", with: "7"))")
            let row = TestSchema.row(flight, ["carrier": .string(text)])
            if try Evaluator(matching, schema: source.schema).matches(row, in: source) { #expect(!found.isEmpty) }
        }
    }

    @Test func aTextBehindALinkWhoseCaseDoesNotCountIsFoundFromBothEnds() throws {
        let origin = TestSchema.object(1, ofClass: TestSchema.airport)
        source.set(origin, TestSchema.row(origin, ["name": .string("a7")]))
        let index = try index(200) { "Flight WHERE origin.name ==[c] 'A\($0)' EXCLUDE(plane, origin)" }
        #expect(try found(index, flight, ["origin": .link(origin.key)]).count == 1)
        #expect(try found(index, origin, ["name": .string("A8")]).count == 2)
    }

    @Test(arguments: [100, 400])
    func computedValuesTellViewsApart(count: Int) throws {
        source.set(plane, TestSchema.row(plane, [:]))
        let counts = try index(count) { "Plane WHERE @links.Flight.plane.@count == \($0)" }
        #expect(try found(counts, flight, ["plane": .link(plane.key)]).count == 2)
        #expect(try found(counts, flight, ["delay": .int(1), "plane": .link(plane.key)]).isEmpty)
        #expect(try found(counts, plane, ["seats": .int(1)]) == ["Plane WHERE @links.Flight.plane.@count == 1"])
        #expect(try found(counts, flight, [:]).count == 2)
        let user = TestSchema.object(1, ofClass: TestSchema.user)
        let friend = TestSchema.object(2, ofClass: TestSchema.user)
        source.set(friend, TestSchema.row(friend, ["age": .int(4)]))
        source.set(user, TestSchema.row(user, ["friends": .list([.link(friend.key)])]))
        let sums = try index(count) { "User WHERE friends.@sum.age == \($0) EXCLUDE(friends, best)" }
        #expect(try found(sums, friend, ["age": .int(7)]).count <= 4)
    }

    @Test(arguments: [100, 400])
    func aWindowIsNotFoundByChangesBeyondWhatItHolds(count: Int) throws {
        for number in 0..<100 {
            let flight = TestSchema.object(number, ofClass: TestSchema.flight)
            source.set(flight, TestSchema.row(flight, ["delay": .int(Int64(number))]))
        }
        for order in ["ASC", "DESC"] {
            let index = try index(count) { number in
                "Flight WHERE carrier != 'c\(number)' SORT(delay \(order)) LIMIT(2) EXCLUDE(plane, origin)"
            }
            let middle = TestSchema.object(50, ofClass: TestSchema.flight)
            #expect(try found(index, middle, ["delay": .int(51)]).isEmpty)
            #expect(try found(index, middle, ["delay": .int(order == "ASC" ? -1 : 1_000)]).count == count)
        }
    }

    /// Each carrier has twenty windows, and nearly every change comes before the ends of all windows.
    @Test(arguments: [100, 400])
    func windowsThatEndWhereAllOthersEndAreToldApartByTheirValues(count: Int) throws {
        func set(_ number: Int, _ carrier: Int, delay: Int) -> (ObjectRef, Row?) {
            let object = TestSchema.object(carrier * 1_000 + number, ofClass: TestSchema.flight)
            let values: [String: Value] = ["carrier": .string("c\(carrier)"), "delay": .int(Int64(delay))]
            return (object, TestSchema.row(object, values))
        }
        for carrier in 0..<count / 20 {
            for number in 0..<60 { _ = source.commit(set(number, carrier, delay: 1_000 + number)) }
        }
        let index = try index(count) { number in
            "Flight WHERE carrier == 'c\(number / 20)' AND delay < 1000000 SORT(delay ASC) LIMIT(\(number % 20 + 1))"
        }
        for number in 60..<100 {
            for carrier in 0..<count / 20 {
                let (commit, before) = source.commit(set(number, carrier, delay: 1_000 - number))
                let found = try index.candidates(for: commit, in: source, before: before)
                // Some were filed before it turned out what the others share.
                #expect((20...36).contains(found.count))
                var changedCount = 0
                for view in found {
                    if try view.apply(commit, in: source, before: before) != nil { changedCount += 1 }
                    index.update(view)
                }
                #expect(changedCount == 20)
            }
        }
        #expect(index.problems().isEmpty)
    }

    @Test(arguments: [100, 400])
    func aConditionBehindALinkIsFoundFromBothEnds(count: Int) throws {
        source.set(plane, TestSchema.row(plane, ["seats": .int(5)]))
        let index = try index(count) { "Flight WHERE plane.seats == \($0) EXCLUDE(plane)" }
        #expect(try found(index, flight, ["plane": .link(plane.key)]).count == 1)
        #expect(try found(index, plane, ["seats": .int(6)]).count == 2)
        #expect(try found(index, flight, ["delay": .int(1), "plane": .link(plane.key)]).count == 1)
        let other = TestSchema.object(2, ofClass: TestSchema.plane)
        #expect(try found(index, other, ["seats": .int(7)]).count == 1)
    }

    @Test(arguments: [100, 400])
    func aLinkedObjectFindsTheViewsThatHoldIt(count: Int) throws {
        for number in 0..<count {
            let plane = TestSchema.object(number, ofClass: TestSchema.plane)
            source.set(plane, TestSchema.row(plane, ["seats": .int(1)]))
            let flight = TestSchema.object(number, ofClass: TestSchema.flight)
            source.set(flight, TestSchema.row(flight, ["delay": .int(Int64(number)), "plane": .link(plane.key)]))
        }
        let index = try index(count) { "Flight WHERE delay == \($0)" }
        #expect(try found(index, plane, ["seats": .int(2)]) == ["Flight WHERE delay == 1"])
        let stranger = TestSchema.object(count, ofClass: TestSchema.plane)
        #expect(try found(index, stranger, ["seats": .int(2)]).isEmpty)
    }

    @Test func anObjectThatComesIsFoundByWhatLinksToIt() throws {
        let hub = TestSchema.object(2, ofClass: TestSchema.airport)
        let origin = TestSchema.object(1, ofClass: TestSchema.airport)
        source.set(origin, TestSchema.row(origin, ["hub": .link(hub.key)]))
        source.set(flight, TestSchema.row(flight, ["delay": .int(1), "origin": .link(origin.key)]))
        let index = try index(20) { "Flight WHERE delay == \($0)" }
        #expect(try found(index, hub, [:]) == ["Flight WHERE delay == 1"])
    }

    @Test func moreObjectsThanAreFollowedFindEveryView() throws {
        let friends = (0...PathTable.objectCountMax).map { TestSchema.object($0, ofClass: TestSchema.user) }
        for friend in friends { source.set(friend, TestSchema.row(friend, ["age": .int(1_000)])) }
        let index = try index(20) { "User WHERE friends.age == \($0) EXCLUDE(friends, best)" }
        let user = TestSchema.object(5_000, ofClass: TestSchema.user)
        #expect(
            try found(index, user, ["age": .int(1_000), "friends": .list(friends.dropLast().map { .link($0.key) })])
                .isEmpty)
        #expect(
            try found(index, user, ["age": .int(1_000), "friends": .list(friends.map { .link($0.key) })]).count == 20)
    }

    @Test func aComputedValueOfOneTextIsFoundFromEachClassThatHasIt() throws {
        let team = try ClassSchema(
            "Team", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("members", .links("Team"))])
        let others = try ["Match", "Visit"].map { name in
            try ClassSchema(
                name, primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("host", .link("Team"))])
        }
        let schema = try Schema([team] + others)
        let source = MemorySource(schema: schema)
        let host = ObjectRef(0, .int(1))
        source.set(host, Row(key: .int(1), values: [.int(1), .list([])]))
        let index = ViewIndex(schema: schema)
        for declared in others {
            let query = try Query.parse("\(declared.name) WHERE host.members.@count == 0 EXCLUDE(host)", schema: schema)
            let view = LiveView(query, schema: schema)
            try view.activate(in: source)
            index.insert(view)
        }
        for classIndex in [1, 2] {
            let object = ObjectRef(classIndex, .int(1))
            let row = Row(key: .int(1), values: [.int(1), .link(host.key)])
            source.set(object, row)
            let commit = CommitDelta(
                changes: [ObjectDelta(object: object, old: nil, new: row, authors: [])], version: 1)
            let before = OldStateSource(commit, over: source, schema: schema)
            let found = try index.candidates(for: commit, in: source, before: before)
            #expect(found.map(\.query.classIndex) == [classIndex])
        }
    }

    // MARK: What no condition on one property describes

    private func user(_ number: Int, _ values: [String: Value] = [:]) -> ObjectRef {
        let user = TestSchema.object(number, ofClass: TestSchema.user)
        source.set(user, TestSchema.row(user, values))
        return user
    }

    @Test(arguments: [100, 400])
    func resultsOfArithmeticTellViewsApart(count: Int) throws {
        let index = try index(count) { "Flight WHERE delay * 2 + 1 == \($0) EXCLUDE(plane, origin)" }
        #expect(try found(index, flight, ["delay": .int(3)]).count == 1)
        #expect(try found(index, flight, ["delay": .int(4)]).count == 2)
        let behind = try self.index(count) { "Flight WHERE plane.seats + delay == \($0) EXCLUDE(plane, origin)" }
        source.set(plane, TestSchema.row(plane, ["seats": .int(5)]))
        #expect(try found(behind, flight, ["delay": .int(4), "plane": .link(plane.key)]).count == 1)
        #expect(try found(behind, plane, ["seats": .int(6)]).count == 2)
    }

    @Test(arguments: [100, 400])
    func whatAllLinkedObjectsMeetTellsViewsApart(count: Int) throws {
        let friends = [user(11, ["age": .int(7)]), user(12, ["age": .int(7)])]
        let car = TestSchema.object(1, ofClass: TestSchema.car)
        let index = try index(count) { "Car WHERE ALL owners.age == \($0) EXCLUDE(owners, dealer)" }
        // Without owners, a car is a result of each view.
        #expect(try found(index, car, ["owners": .list([])]).count == count)
        #expect(try found(index, car, ["owners": .list(friends.map { .link($0.key) })]).count == count)
        #expect(try found(index, friends[0], ["age": .int(8)]).count <= 2)
        #expect(try found(index, car, ["owners": .list([.link(friends[1].key)])]).count <= 2)
        #expect(try found(index, car, ["owners": .list([.link(friends[0].key)])]).count <= 2)
    }

    @Test(arguments: [100, 400])
    func theConditionOfASubqueryTellsViewsApart(count: Int) throws {
        let friend = user(11, ["name": .string("f7")])
        let user = user(1)
        let index = try index(count) { number in
            "User WHERE SUBQUERY(friends, $f, $f.name == 'f\(number)' AND $f.age > 3).@count > 0 "
                + "EXCLUDE(friends, best)"
        }
        #expect(try found(index, user, ["friends": .list([.link(friend.key)])]).count == 1)
        #expect(try found(index, friend, ["name": .string("f7"), "age": .int(4)]).count == 1)
        #expect(try found(index, friend, ["name": .string("f8"), "age": .int(4)]).count == 2)
        #expect(index.table.byDerived.isEmpty)
    }

    @Test(arguments: [100, 400])
    func aWindowSortedBehindALinkIsFoundByWayOfItsResults(count: Int) throws {
        source.set(plane, TestSchema.row(plane, ["seats": .int(5)]))
        let index = try index(count) { number in
            "Flight WHERE carrier == 'c\(number)' SORT(plane.seats DESC) LIMIT(2) EXCLUDE(origin)"
        }
        #expect(try found(index, flight, ["carrier": .string("c7"), "plane": .link(plane.key)]).count == 1)
        #expect(try found(index, plane, ["seats": .int(6)]).count == 1)
        // Where more objects lead to a change than are looked up, every view is found that reads it.
        for number in 0...ChainTable.rootCountMax {
            let flight = TestSchema.object(100 + number, ofClass: TestSchema.flight)
            source.set(flight, TestSchema.row(flight, ["carrier": .string("x"), "plane": .link(plane.key)]))
        }
        #expect(try found(index, plane, ["seats": .int(7)]).count == count)
    }

    @Test(arguments: [100, 400])
    func aListOfLinksFindsThoseWhoNameOneOfThem(count: Int) throws {
        let index = ViewIndex(schema: TestSchema.schema)
        for number in 0..<count {
            let context = try ReadContext(
                ["Car WHERE ANY owners IN {\(number), \(number + 10_000)}"], schema: TestSchema.schema)
            for query in [
                try TestSchema.query("Car EXCLUDE(owners, dealer)").read(in: context),
                try TestSchema.query("Car WHERE ANY owners == \(number) EXCLUDE(owners, dealer)"),
            ] {
                let view = LiveView(query, schema: TestSchema.schema)
                try view.activate(in: source)
                index.insert(view)
            }
        }
        let car = TestSchema.object(1, ofClass: TestSchema.car)
        let (owner, other) = (user(7), user(8))
        #expect(try found(index, car, ["owners": .list([.link(owner.key)])]).count == 2)
        #expect(try found(index, car, ["owners": .list([.link(owner.key), .link(other.key)])]).count == 4)
        #expect(try found(index, car, ["owners": .list([])]).count == 4)
    }

    @Test func subqueriesThatDifferInConstantsShareAShapeAndFindTheirOwnChanges() throws {
        var shapes = ViewShapes(schema: TestSchema.schema)
        let index = ViewIndex(schema: TestSchema.schema)
        let views = try (0..<100).map { number in
            let query = try TestSchema.query(
                "Plane WHERE SUBQUERY(@links.Flight.plane, $f, $f.carrier == 'c\(number)').@count > 0")
            let view = LiveView(query, shape: shapes.shape(of: query))
            try view.activate(in: source)
            index.insert(view)
            return view
        }
        #expect(views.allSatisfy { $0.shape === views[0].shape })
        source.set(plane, TestSchema.row(plane, [:]))
        let first = try found(index, flight, ["carrier": .string("c7"), "plane": .link(plane.key)])
        #expect(first == [views[7].query.canonicalText])
        let second = try found(index, flight, ["carrier": .string("c8"), "plane": .link(plane.key)])
        #expect(Set(second) == Set([views[7], views[8]].map(\.query.canonicalText)))
    }

    @Test func readersWhoseRulesDifferInConstantsShareAllButTheConstants() throws {
        var shapes = ViewShapes(schema: TestSchema.schema)
        let views = try ["a", "b"].map { name in
            let context = try ReadContext(["User WHERE name == '\(name)'"], schema: TestSchema.schema)
            let query = try TestSchema.query("User").read(in: context)
            let view = LiveView(query, shape: shapes.shape(of: query))
            #expect(view.query.context.id == context.id && view.query.key == query.key)
            let text = view.query.context.condition(ofClass: TestSchema.user)?.canonicalText
            #expect(text == "User WHERE name == \"\(name)\"")
            return view
        }
        let forms = views.map { $0.query.context.condition(ofClass: TestSchema.user)?.form }
        #expect(forms[0] === forms[1] && forms[0] != nil)
    }

    @Test(arguments: [100, 400])
    func aChangeConcernsTheViewsOfItsOwnReadersOnly(count: Int) throws {
        let index = ViewIndex(schema: TestSchema.schema)
        for number in 0..<count {
            let context = try ReadContext(
                ["User WHERE best.name == 'u\(number)'", "Dealer WHERE city == 'c\(number)'"],
                schema: TestSchema.schema)
            for text in ["User EXCLUDE(friends, best)", "Car WHERE dealer.city != 'x'"] {
                let view = LiveView(try TestSchema.query(text).read(in: context), schema: TestSchema.schema)
                try view.activate(in: source)
                index.insert(view)
            }
        }
        let owner = user(11, ["name": .string("u7")])
        let user = user(1)
        // The users' own view, and the cars' view, which leads to owners.
        #expect(try found(index, user, ["best": .link(owner.key)]).count == 2)
        #expect(try found(index, owner, ["name": .string("u8")]).count == 4)
        let dealer = TestSchema.object(1, ofClass: TestSchema.dealer)
        #expect(try found(index, dealer, ["city": .string("c7")]).count <= 1)
        #expect(try found(index, dealer, ["city": .string("c8")]).count <= 2)
    }
}
