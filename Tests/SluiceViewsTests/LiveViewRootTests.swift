import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceViews

@Suite struct LiveViewRootTests {
    private let source = MemorySource()
    private let users = (0..<6).map { TestSchema.object($0, ofClass: TestSchema.user) }

    private func user(_ number: Int, age: Int64, _ values: [String: Value] = [:]) -> (ObjectRef, Row?) {
        (users[number], TestSchema.row(users[number], values.merging(["age": .int(age)]) { $1 }))
    }

    private func view(_ text: String) throws -> LiveView {
        let view = try LiveView(TestSchema.query(text), schema: source.schema)
        try view.activate(in: source)
        return view
    }

    private func apply(_ view: LiveView, _ edits: (ObjectRef, Row?)...) throws -> ViewDelta? {
        let (commit, before) = source.commit(edits)
        return try view.apply(commit, in: source, before: before)
    }

    // MARK: Predicates

    @Test func aViewWithoutLimitAndLinksHoldsNothingAndReadsNothing() throws {
        _ = source.commit(user(0, age: 9))
        let view = try view("User WHERE age > 5 EXCLUDE(friends, best)")
        #expect(!view.holdsMembers && view.heldRoots == nil)
        #expect(source.queryCount == 0)
        #expect(try view.member(users[0], in: source) == ViewMember(role: .root, included: [0, 1, 2, 5]))
        #expect(try view.member(users[1], in: source) == nil)
    }

    @Test func anObjectEntersChangesAndLeavesByThePredicate() throws {
        let view = try view("User WHERE age > 5 EXCLUDE(friends, best)")
        #expect(try apply(view, user(0, age: 1)) == nil)
        let entered = try apply(view, user(0, age: 7))
        #expect(entered?.entered == [ViewObject(object: users[0], included: [0, 1, 2, 5], changed: [0, 1, 2, 5])])
        let updated = try apply(view, user(0, age: 8))
        #expect(updated?.updated == [ViewObject(object: users[0], included: [0, 1, 2, 5], changed: [2])])
        let filtered = try apply(view, user(0, age: 2))
        #expect(filtered?.left == [ViewDeparture(object: users[0], reason: .filter)])
        _ = try apply(view, user(0, age: 9))
        #expect(try apply(view, (users[0], nil))?.left == [ViewDeparture(object: users[0], reason: .deleted)])
    }

    @Test func aChangeOfExcludedPropertiesIsNoEvent() throws {
        let view = try view("User WHERE age > 5 EXCLUDE(friends, best, name)")
        _ = try apply(view, user(0, age: 7))
        #expect(try apply(view, user(0, age: 7, ["name": .string("x"), "best": .link(users[1].key)])) == nil)
    }

    @Test func aPredicateMayReadWhatIsExcluded() throws {
        let view = try view("User WHERE name == 'x' EXCLUDE(friends, best, name)")
        #expect(try apply(view, user(0, age: 7, ["name": .string("x")]))?.entered.count == 1)
        #expect(try apply(view, user(0, age: 7))?.left == [ViewDeparture(object: users[0], reason: .filter)])
    }

    @Test func aChangeBehindALinkMovesTheRootsThatReadIt() throws {
        _ = source.commit(user(0, age: 0, ["best": .link(users[1].key)]), user(1, age: 3), user(2, age: 9))
        let view = try view("User WHERE best.age > 5 EXCLUDE(friends, best)")
        let entered = try apply(view, user(3, age: 0), user(1, age: 6))
        #expect(entered?.entered.map(\.object) == [users[0]])
        #expect(entered?.authors == [1])
        let retargeted = try apply(view, user(0, age: 0, ["best": .link(users[2].key)]), user(1, age: 0))
        #expect(retargeted == nil)
        #expect(try apply(view, (users[2], nil))?.left == [ViewDeparture(object: users[0], reason: .filter)])
    }

    @Test func aTargetThatArrivesMakesItsLinkNotNull() throws {
        _ = source.commit(user(0, age: 0, ["best": .link(users[1].key)]))
        let view = try view("User WHERE best == NULL EXCLUDE(friends, best)")
        let delta = try apply(view, user(1, age: 1))
        #expect(delta?.left == [ViewDeparture(object: users[0], reason: .filter)])
        #expect(delta?.entered.map(\.object) == [users[1]])
    }

    // MARK: Windows

    @Test func aWindowStartsWithTheFirstRowsInOrder() throws {
        _ = source.commit((0..<6).map { user($0, age: Int64(10 - $0)) })
        let view = try view("User SORT(age ASC) LIMIT(3) EXCLUDE(friends, best)")
        #expect(view.heldRoots == [users[5], users[4], users[3]])
        #expect(view.holdsMembers)
    }

    @Test func anInsertionPushesTheLastOneOut() throws {
        _ = source.commit((0..<3).map { user($0, age: Int64($0 + 1)) })
        let view = try view("User SORT(age ASC) LIMIT(2) EXCLUDE(friends, best)")
        let delta = try apply(view, user(4, age: 0))
        #expect(delta?.entered.map(\.object) == [users[4]])
        #expect(delta?.left == [ViewDeparture(object: users[1], reason: .window)])
        #expect(view.heldRoots == [users[4], users[0]])
    }

    @Test func aDepartureLetsTheNextOneIn() throws {
        _ = source.commit((0..<4).map { user($0, age: Int64($0 + 1)) })
        let view = try view("User SORT(age ASC) LIMIT(2) EXCLUDE(friends, best)")
        let asked = source.queryCount
        let delta = try apply(view, (users[0], nil))
        #expect(delta?.left == [ViewDeparture(object: users[0], reason: .deleted)])
        #expect(delta?.entered.map(\.object) == [users[2]])
        #expect(source.queryCount == asked)
        let moved = try apply(view, user(1, age: 9))
        #expect(moved?.left == [ViewDeparture(object: users[1], reason: .window)])
        #expect(moved?.entered.map(\.object) == [users[3]])
    }

    @Test func aMoveWithinTheWindowIsAnUpdateAlone() throws {
        _ = source.commit((0..<4).map { user($0, age: Int64($0 + 1)) })
        let view = try view("User SORT(age ASC) LIMIT(3) EXCLUDE(friends, best)")
        let delta = try apply(view, user(0, age: 3))
        #expect(delta?.updated.map(\.object) == [users[0]])
        #expect(delta?.entered.isEmpty == true && delta?.left.isEmpty == true)
    }

    @Test func changesBeyondTheWindowAreNoEvent() throws {
        _ = source.commit((0..<4).map { user($0, age: Int64($0 + 1)) })
        let view = try view("User SORT(age ASC) LIMIT(2) EXCLUDE(friends, best)")
        #expect(try apply(view, user(3, age: 3, ["name": .string("z")])) == nil)
        #expect(try apply(view, (users[3], nil)) == nil)
    }

    @Test func aMemberThatChangesWhileOthersComeAndGoIsUpdated() throws {
        _ = source.commit((0..<4).map { user($0, age: Int64($0 + 1)) })
        let view = try view("User SORT(age ASC) LIMIT(2) EXCLUDE(friends, best)")
        let delta = try apply(view, user(4, age: 0), user(1, age: 2, ["name": .string("x")]), (users[0], nil))
        #expect(delta?.updated == [ViewObject(object: users[1], included: [0, 1, 2, 5], changed: [1])])
        #expect(view.heldRoots == [users[4], users[1]])
    }

    @Test func aWindowDoesNotGrowWithWhatIsInserted() throws {
        let view = LiveView(
            try TestSchema.query("User SORT(age DESC) LIMIT(2) EXCLUDE(friends, best)"), schema: source.schema,
            overscan: 1)
        try view.activate(in: source)
        for number in 0..<50 {
            let object = TestSchema.object(number, ofClass: TestSchema.user)
            _ = try apply(view, (object, TestSchema.row(object, ["age": .int(Int64(number))])))
            guard case .window(let window) = view.roots else { return #expect(Bool(false), "no window") }
            #expect(window.entries.count <= 6)
        }
        #expect(view.heldRoots?.map(\.key) == [.int(49), .int(48)])
    }

    @Test func onlyAnExhaustedOverscanAsksTheSourceAgain() throws {
        let objects = (0..<60).map { TestSchema.object($0, ofClass: TestSchema.user) }
        _ = source.commit(objects.enumerated().map { ($1, TestSchema.row($1, ["age": .int(Int64($0))])) })
        let view = try view("User SORT(age ASC) LIMIT(4) EXCLUDE(friends, best)")
        let asked = source.queryCount
        for number in 0..<16 {
            #expect(try apply(view, (objects[number], nil))?.entered.map(\.object) == [objects[number + 4]])
        }
        #expect(source.queryCount == asked)
        #expect(try apply(view, (objects[16], nil))?.entered.map(\.object) == [objects[20]])
        #expect(source.queryCount == asked + 1)
        #expect(view.heldRoots == Array(objects[17..<21]))
    }

    @Test func whatFollowsALeadingLimitWorksOnItsWindow() throws {
        _ = source.commit((0..<6).map { user($0, age: Int64($0)) })
        let view = LiveView(
            try TestSchema.query("User SORT(age DESC) LIMIT(3) SORT(age ASC) LIMIT(2) EXCLUDE(friends, best)"),
            schema: source.schema, overscan: 1)
        try view.activate(in: source)
        #expect(view.heldRoots == [users[3], users[4]])
        #expect(stagedCount(view) == 3)
        // A root leaves the window. The oldest row outside the window enters it, and is its youngest row then.
        let delta = try apply(view, (users[4], nil))
        #expect(delta?.entered.map(\.object) == [users[2]])
        #expect(delta?.left == [ViewDeparture(object: users[4], reason: .deleted)])
        #expect(view.heldRoots == [users[2], users[3]])
        #expect(try apply(view, user(1, age: 9))?.left == [ViewDeparture(object: users[2], reason: .window)])
        #expect(view.heldRoots == [users[3], users[5]])
        #expect(try apply(view, user(0, age: 1)) == nil)
        #expect(stagedCount(view) == 3)
    }

    // MARK: One object

    @Test func oneObjectIsFollowedByItsID() throws {
        let id = Identity(className: "User", key: users[0].key).objectID
        let view = try view("OBJECT(\(id))")
        #expect(view.heldRoots == [])
        let entered = try apply(view, user(1, age: 1), user(0, age: 1, ["best": .link(users[1].key)]))
        #expect(entered?.entered.map(\.object) == [users[0]])
        #expect(entered?.linkedEntered.map(\.object) == [users[1]])
        let updated = try apply(view, user(0, age: 2, ["best": .link(users[1].key)]))
        #expect(updated?.updated == [ViewObject(object: users[0], included: [0, 1, 2, 3, 4, 5], changed: [2])])
        let left = try apply(view, (users[0], nil))
        #expect(left?.left == [ViewDeparture(object: users[0], reason: .deleted)])
        #expect(left?.linkedLeft == [ViewDeparture(object: users[1], reason: .filter)])
        #expect(try apply(view, user(0, age: 3))?.entered.map(\.object) == [users[0]])
    }

    /// How many matches a view with stages holds.
    private func stagedCount(_ view: LiveView) -> Int? {
        if case .stages(let stages) = view.roots { stages.positions.count } else { nil }
    }
}
