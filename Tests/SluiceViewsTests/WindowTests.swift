import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceViews

/// What a window reads, keeps and reports.
@Suite(.ownThread) struct WindowTests {
    private let source = MemorySource()

    private func user(_ number: Int, age: Int?) -> (ObjectRef, Row?) {
        let object = TestSchema.object(number, ofClass: TestSchema.user)
        return (object, age.map { TestSchema.row(object, ["age": .int(Int64($0))]) })
    }

    private func view(_ text: String, overscan: Int? = nil) throws -> LiveView {
        let view = LiveView(try TestSchema.query(text), schema: source.schema, overscan: overscan)
        try view.activate(in: source)
        return view
    }

    private func apply(_ view: LiveView, _ edits: [(ObjectRef, Row?)]) throws -> ViewDelta? {
        let (commit, before) = source.commit(edits)
        let delta = try view.apply(commit, in: source, before: before)
        #expect(try ViewCheck(commit, in: source, schema: source.schema).problems(of: view, reporting: delta).isEmpty)
        return delta
    }

    private func heldCount(_ view: LiveView) -> Int? {
        if case .window(let window) = view.roots { window.entries.count } else { nil }
    }

    /// A queue whose first entry is taken again and again.
    @Test func aWindowThatLosesItsFirstRowsReadsTwiceAsMuchEachTime() throws {
        _ = source.commit((0..<400).map { user($0, age: $0) })
        let view = try view("User SORT(age ASC) LIMIT(4) EXCLUDE(friends, best)")
        let asked = source.queryCount
        for number in 0..<300 {
            let (commit, before) = source.commit([user(number, age: nil)])
            #expect(try view.apply(commit, in: source, before: before)?.entered.count == 1)
        }
        // After 16, 32, 64 and 128 rows.
        #expect(source.queryCount - asked == 4)
        #expect(view.heldRoots?.map(\.key) == (300..<304).map { .int($0) })
    }

    @Test func aSurplusHasALimitAndGoesWhenRowsComeBeforeIt() throws {
        _ = source.commit((0..<400).map { user($0, age: $0) })
        let view = try view("User SORT(age ASC) LIMIT(4) EXCLUDE(friends, best)")
        for number in 0..<60 { _ = try apply(view, [user(number, age: nil)]) }
        let grown = try #require(heldCount(view))
        #expect(grown > 40)
        for number in 0..<100 { _ = try apply(view, [user(number, age: -1 - number)]) }
        #expect(try #require(heldCount(view)) <= 4 + 2 * 16)
    }

    /// All states of three objects, each of which is absent, does not match or has one of two sort values, and every
    /// commit that changes two of them, for each kind of window.
    @Test(arguments: [
        "User WHERE age > 0 SORT(age ASC) LIMIT(1)", "User WHERE age > 0 SORT(age DESC) LIMIT(2)",
        "User WHERE age > 0 LIMIT(2)", "User WHERE age > 0 SORT(age ASC, name DESC) LIMIT(2)",
        "User WHERE age > 0 SORT(age ASC) LIMIT(0)", "User WHERE age > 0 SORT(age DESC) DISTINCT(age)",
        "User WHERE age > 0 SORT(age ASC) LIMIT(3) SORT(name ASC) LIMIT(2)",
        "User WHERE age > 0 SORT(age ASC) LIMIT(1) TOTAL", "User WHERE age > 0 LIMIT(0) TOTAL",
        "User WHERE age > 0 SORT(age ASC) TOTAL",
    ])
    func everyCommitOfTwoObjectsLeadsToWhatTheOracleSays(text: String) throws {
        let states: [Int?] = [nil, 0, 1, 2]
        let clauses = text.hasSuffix(" TOTAL") ? "EXCLUDE(friends, best) TOTAL" : "EXCLUDE(friends, best)"
        let query = try TestSchema.query("\(text) \(clauses)")
        let shape = ViewShape(query.form, in: query.context, schema: source.schema)
        for state in 0..<64 {
            for pair in [[0, 1], [1, 2]] {
                for edit in 0..<16 {
                    for position in 0..<3 {
                        let (object, row) = user(position, age: states[state >> (2 * position) & 3])
                        source.set(object, row)
                    }
                    let view = LiveView(query, shape: shape, overscan: 0)
                    try view.activate(in: source)
                    _ = try apply(view, [user(pair[0], age: states[edit & 3]), user(pair[1], age: states[edit >> 2])])
                }
            }
        }
    }

    /// A window that is sorted by what a link leads to has no index of its own rows: where a row was follows from the
    /// state before the commit.
    @Test func aWindowSortedBehindALinkFollowsTheLinkedObject() throws {
        let friends = (10..<13).map { TestSchema.object($0, ofClass: TestSchema.user) }
        _ = source.commit(friends.enumerated().map { ($1, TestSchema.row($1, ["age": .int(Int64($0))])) })
        let users = (0..<3).map { TestSchema.object($0, ofClass: TestSchema.user) }
        _ = source.commit(
            users.enumerated().map { ($1, TestSchema.row($1, ["best": .link(friends[$0].key), "name": .string("a")])) })
        let view = try view("User WHERE name == 'a' SORT(best.age ASC) LIMIT(2) EXCLUDE(friends)", overscan: 0)
        #expect(view.heldRoots == [users[0], users[1]])
        let moved = try apply(view, [(friends[0], TestSchema.row(friends[0], ["age": .int(9)]))])
        #expect(moved?.left.map(\.object) == [users[0]] && moved?.entered.map(\.object) == [users[2]])
        #expect(view.heldRoots == [users[1], users[2]])
        let both = try apply(
            view,
            [
                (friends[1], TestSchema.row(friends[1], ["age": .int(20)])),
                (users[1], TestSchema.row(users[1], ["best": .link(friends[0].key), "name": .string("a")])),
            ])
        #expect(both?.left.isEmpty == true)
        #expect(view.heldRoots == [users[2], users[1]])
    }

    /// A million of them are kept; see row C1 of the benchmarks.
    @Test func aQueryThatShowsNothingHoldsNoWindow() throws {
        _ = source.commit((0..<5).map { user($0, age: $0) })
        let view = try view("User WHERE age > 2 LIMIT(0) EXCLUDE(friends, best) TOTAL")
        guard case .unshown(count: 2) = view.roots else {
            Issue.record("the view holds \(view.roots)")
            return
        }
        #expect(view.holdsRoots && view.heldRoots == [])
        #expect(try apply(view, [user(1, age: 7), user(2, age: 8)])?.total == 4)
        #expect(try apply(view, [user(1, age: 0), user(7, age: 9)]) == nil)
        #expect(view.matchCount == 4)
    }

    /// A hub concerns more possible matches than are judged one by one.
    @Test(arguments: ["LIMIT(0)", "SORT(age ASC) LIMIT(2)"])
    func matchesAreCountedAnewWhereManyAreConcerned(window: String) throws {
        let hub = TestSchema.object(50, ofClass: TestSchema.user)
        _ = source.commit([(hub, TestSchema.row(hub, ["age": .int(1)]))])
        let users = (0..<4).map { TestSchema.object($0, ofClass: TestSchema.user) }
        _ = source.commit(users.map { ($0, TestSchema.row($0, ["best": .link(hub.key)])) })
        let query = try TestSchema.query("User WHERE best.age > 5 \(window) EXCLUDE(friends, best) TOTAL")
        let shape = ViewShape(query.form, in: query.context, schema: source.schema, affectedCountMax: 3)
        let view = LiveView(query, shape: shape)
        try view.activate(in: source)
        #expect(view.matchCount == 0)
        #expect(try apply(view, [(hub, TestSchema.row(hub, ["age": .int(6)]))])?.total == 4)
        #expect(try apply(view, [(hub, TestSchema.row(hub, ["age": .int(7)]))]) == nil)
        #expect(try apply(view, [(hub, nil)])?.total == 0)
    }

    @Test func aNumberThatAnotherViewCountsIsTakenOverOnce() throws {
        _ = source.commit((0..<5).map { user($0, age: $0) })
        let query = try TestSchema.query("User WHERE age > 2 LIMIT(0) EXCLUDE(friends, best) TOTAL")
        let view = LiveView(query, schema: source.schema)
        view.expect(matchCount: 70)
        #expect(view.matchCount == nil)
        try view.activate(in: source)
        #expect(view.matchCount == 70)
        view.expect(matchCount: 71)
        #expect(view.matchCount == 70)
        try view.activate(in: source)
        #expect(view.matchCount == 2)
    }
}
