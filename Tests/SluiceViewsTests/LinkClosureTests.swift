import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceViews

@Suite struct LinkClosureTests {
    private let source = MemorySource()
    private let users = (0..<8).map { TestSchema.object($0, ofClass: TestSchema.user) }

    /// Only user 0 is a root of the queries here, because its age is 1.
    private func user(_ number: Int, friends: [Int] = [], best: Int? = nil, name: String = "", age: Int64? = nil) -> (
        ObjectRef, Row?
    ) {
        let values: [String: Value] = [
            "friends": .list(friends.map { .link(users[$0].key) }), "best": best.map { .link(users[$0].key) } ?? .null,
            "age": .int(age ?? (number == 0 ? 1 : 0)), "name": .string(name),
        ]
        return (users[number], TestSchema.row(users[number], values))
    }

    private func view(_ text: String = "User WHERE age == 1") throws -> LiveView {
        let view = try LiveView(TestSchema.query(text), schema: source.schema)
        try view.activate(in: source)
        return view
    }

    private func apply(_ view: LiveView, _ edits: (ObjectRef, Row?)...) throws -> ViewDelta? {
        let (commit, before) = source.commit(edits)
        return try view.apply(commit, in: source, before: before)
    }

    private func linked(_ view: LiveView) throws -> [ObjectRef: PropertySet] {
        var linked: [ObjectRef: PropertySet] = [:]
        try view.forEachLinked(in: source) { linked[$0] = $1 }
        return linked
    }

    @Test func linksAreFollowedDeeplyAndThroughCycles() throws {
        _ = source.commit(
            user(0, friends: [1]), user(1, friends: [2]), user(2, friends: [1, 0]), user(3, friends: [0]))
        #expect(try linked(view()) == [users[1]: [0, 1, 2, 3, 4, 5], users[2]: [0, 1, 2, 3, 4, 5]])
    }

    @Test func aCycleCutOffFromItsRootLeavesWhole() throws {
        _ = source.commit(user(0, friends: [1]), user(1, friends: [2]), user(2, friends: [3]), user(3, friends: [1]))
        let view = try view()
        let delta = try apply(view, user(0))
        #expect(delta?.linkedLeft == users[1...3].map { ViewDeparture(object: $0, reason: .filter) })
        #expect(delta?.updated == [ViewObject(object: users[0], included: [0, 1, 2, 3, 4, 5], changed: [3])])
        #expect(try linked(view).isEmpty)
    }

    @Test func aNodeThatLosesItsSupportStaysIfAnotherPathLeadsToIt() throws {
        _ = source.commit(
            user(0, friends: [1, 2]), user(1, friends: [3]), user(2, friends: [3]), user(3, friends: [4]), user(4))
        let view = try view()
        for loser in [1, 2] {
            let delta = try apply(view, user(loser))
            #expect(delta?.linkedLeft.isEmpty == (loser == 1))
            _ = try apply(view, user(loser, friends: loser == 1 ? [] : [3]))
        }
        #expect(try Set(linked(view).keys) == Set(users[1...4]))
    }

    @Test func aLongerWayAroundBringsASuspendedSubtreeBack() throws {
        _ = source.commit(
            user(0, friends: [1, 5]), user(1, friends: [2]), user(2, friends: [3]), user(3), user(5, friends: [6]),
            user(6, friends: [7]), user(7, friends: [3]))
        let view = try view()
        let delta = try apply(view, user(1))
        #expect(delta?.linkedLeft == [ViewDeparture(object: users[2], reason: .filter)])
        #expect(try linked(view)[users[3]] != nil)
    }

    @Test func aGhostEntersWhenItArrivesWithAllBehindIt() throws {
        _ = source.commit(user(0, best: 1), user(2))
        let view = try view()
        #expect(try linked(view).isEmpty)
        let delta = try apply(view, user(1, friends: [2]))
        #expect(delta?.linkedEntered.map(\.object) == [users[1], users[2]])
        let gone = try apply(view, (users[1], nil))
        #expect(
            gone?.linkedLeft == [
                ViewDeparture(object: users[1], reason: .deleted), ViewDeparture(object: users[2], reason: .filter),
            ])
    }

    @Test func aRootThatIsStillLinkedChangesItsRole() throws {
        _ = source.commit(user(0, friends: [1]), user(1, age: 1))
        let view = try view()
        #expect(try linked(view).isEmpty)
        let demoted = try apply(view, user(1, age: 0))
        #expect(demoted?.left == [ViewDeparture(object: users[1], reason: .filter)])
        #expect(demoted?.linkedEntered == [ViewObject(object: users[1], included: [0, 1, 2, 3, 4, 5], changed: [2])])
        let promoted = try apply(view, user(1, age: 1))
        #expect(promoted?.entered == [ViewObject(object: users[1], included: [0, 1, 2, 3, 4, 5], changed: [2])])
        #expect(promoted?.linkedLeft.isEmpty == true)
    }

    @Test func exclusionsStopAtTheirPathAlone() throws {
        _ = source.commit(
            user(0, friends: [1], best: 2), user(1, friends: [3]), user(2, friends: [4]), user(3), user(4))
        #expect(
            try Set(linked(view("User WHERE age == 1 EXCLUDE(friends.friends)")).keys) == [
                users[1], users[2], users[4],
            ])
        #expect(try linked(view("User WHERE age == 1 EXCLUDE(friends)")).keys.contains(users[1]) == false)
        #expect(try linked(view("User WHERE age == 1 EXCLUDE(friends, best)")).isEmpty)
    }

    @Test func aSecondWayThatIncludesMoreSendsWhatWasMissing() throws {
        _ = source.commit(user(0, friends: [1]), user(1, name: "n"))
        let view = try view("User WHERE age == 1 EXCLUDE(friends.name, friends.best)")
        #expect(try linked(view) == [users[1]: [0, 2, 3, 5]])
        let wider = try apply(view, user(0, friends: [1], best: 1))
        #expect(wider?.linkedUpdated == [ViewObject(object: users[1], included: [0, 1, 2, 3, 4, 5], changed: [1, 4])])
        let narrower = try apply(view, user(0, friends: [1]))
        #expect(narrower?.linkedUpdated == [ViewObject(object: users[1], included: [0, 2, 3, 5], changed: [])])
    }

    @Test func onlyIncludedPropertiesOfALinkedObjectAreUpdates() throws {
        _ = source.commit(user(0, friends: [1]), user(1))
        let view = try view("User WHERE age == 1 EXCLUDE(friends.name)")
        #expect(try apply(view, user(1, name: "other")) == nil)
        let delta = try apply(view, user(1, name: "third", age: 5))
        #expect(delta?.linkedUpdated == [ViewObject(object: users[1], included: [0, 2, 3, 4, 5], changed: [2])])
    }

    @Test func aWindowsClosureFollowsItsMembers() throws {
        _ = source.commit(
            user(1, friends: [5], age: 1), user(2, friends: [6], age: 2), user(5, age: 100), user(6, age: 100))
        let view = try view("User WHERE age < 50 SORT(age ASC) LIMIT(1)")
        #expect(try Set(linked(view).keys) == [users[5]])
        let delta = try apply(view, user(1, friends: [5], age: 3))
        #expect(delta?.left == [ViewDeparture(object: users[1], reason: .window)])
        #expect(delta?.entered.map(\.object) == [users[2]])
        #expect(delta?.linkedEntered.map(\.object) == [users[6]])
        #expect(delta?.linkedLeft == [ViewDeparture(object: users[5], reason: .filter)])
    }

    @Test func losingALinkThatSupportsNothingReadsNoOtherObject() throws {
        _ = source.commit(user(0, friends: [1, 2]), user(1, friends: [2]), user(2, friends: [3]), user(3))
        let view = try view()
        let (commit, before) = source.commit(user(1))
        let read = source.readCount
        #expect(try view.apply(commit, in: source, before: before)?.linkedUpdated.map(\.object) == [users[1]])
        #expect(source.readCount - read <= 4)
    }
}
