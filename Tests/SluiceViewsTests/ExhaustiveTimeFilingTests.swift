import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceViews

/// For each way in which a condition reads the time, all small states, all steps of the time in them, and all changes of
/// one object together with a step: what the index finds, and what the views then hold and report, beside the oracle.
@Suite(.ownThread) struct ExhaustiveTimeFilingTests {
    struct Kind: CustomTestStringConvertible, Sendable {
        let name: String
        let queries: [String]
        /// What the readers may read, beside one who reads everything.
        var contexts: [[String]] = []

        var testDescription: String { name }
    }

    static let kinds = [
        Kind(name: "before and after", queries: ["Item WHERE due < $now", "Item WHERE due > $now"]),
        Kind(name: "at and up to", queries: ["Item WHERE due <= $now", "Item WHERE due >= $now"]),
        Kind(
            name: "beside the time",
            queries: ["Item WHERE due <= $now - 5ms", "Item WHERE due > $now + 5ms"]),
        Kind(name: "a range", queries: ["Item WHERE due BETWEEN {$now - 5ms, $now + 5ms}"]),
        Kind(name: "NOT", queries: ["Item WHERE NOT due < $now", "Item WHERE NOT due > $now - 5ms"]),
        Kind(
            name: "with others",
            queries: ["Item WHERE due < $now AND name == 'a'", "Item WHERE due > $now OR name == 'b'"]),
        Kind(name: "behind a link", queries: ["Item WHERE main.since < $now", "Item WHERE NOT main.since <= $now"]),
        Kind(
            name: "backlinks",
            queries: ["Part WHERE ANY @links.Item.main.due < $now", "Part WHERE ALL @links.Item.main.due > $now"]),
        Kind(
            name: "SUBQUERY",
            queries: [
                "Part WHERE SUBQUERY(@links.Item.main, $i, $i.due < $now).@count > 0",
                "Part WHERE SUBQUERY(@links.Item.main, $i, $i.due > $now AND $i.name == 'a').@count == 1",
            ]),
        Kind(
            name: "window",
            queries: [
                "Item WHERE due < $now SORT(due DESC) LIMIT(1)", "Item WHERE due > $now SORT(name ASC) LIMIT(1)",
                "Item WHERE due < $now SORT(name DESC) LIMIT(1) TOTAL",
            ]),
        Kind(
            name: "context", queries: ["Item WHERE due < $now", "Item WHERE main.since > $now"],
            contexts: [["Item WHERE name == 'a'"], ["Part WHERE name == 'x'"]]),
    ]

    private static let schema: Schema = {
        do {
            return try Schema([
                ClassSchema(
                    "Item", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("name", .scalar(.string)),
                        Property("due", .scalar(.date, isOptional: true)), Property("main", .link("Part")),
                    ]),
                ClassSchema(
                    "Part", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("name", .scalar(.string)),
                        Property("since", .scalar(.date, isOptional: true)),
                    ]),
            ])
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    private static func time(_ milliseconds: Int64) -> Timestamp { Timestamp(microseconds: milliseconds * 1_000) }

    /// The states that each object may be in; nil is its absence.
    private static let domains: [(object: ObjectRef, rows: [[Value]?])] = [
        (
            ObjectRef(0, .int(0)),
            [
                nil, [.int(0), .string("a"), .date(time(5)), .null],
                [.int(0), .string("b"), .date(time(10)), .link(.int(0))],
                [.int(0), .string("a"), .null, .link(.int(0))],
            ]
        ),
        (
            ObjectRef(0, .int(1)),
            [
                [.int(1), .string("a"), .date(time(10)), .link(.int(0))],
                [.int(1), .string("b"), .date(time(15)), .null],
            ]
        ),
        (
            ObjectRef(1, .int(0)),
            [nil, [.int(0), .string("x"), .date(time(10))], [.int(0), .string("y"), .date(time(15))]]
        ),
    ]

    /// A world in one state, with all views of a kind.
    private final class World {
        let source = MemorySource(schema: ExhaustiveTimeFilingTests.schema)
        let index = ViewIndex(schema: ExhaustiveTimeFilingTests.schema)
        let clock = QueryClock(schema: ExhaustiveTimeFilingTests.schema)
        var views: [LiveView] = []
        let label: String
        private var current: [ViewSnapshot]

        init(_ kind: Kind, _ state: [Int]) throws {
            label = "\(kind.name), state \(state)"
            for ((object, rows), value) in zip(ExhaustiveTimeFilingTests.domains, state) {
                source.set(object, rows[value].map { Row(key: object.key, version: 1, values: $0) })
            }
            let contexts =
                try [ReadContext.everything]
                + kind.contexts.map { try ReadContext($0, schema: ExhaustiveTimeFilingTests.schema) }
            for text in kind.queries {
                let query = try Query.parse(text, schema: ExhaustiveTimeFilingTests.schema)
                for context in contexts {
                    let view = LiveView(query.read(in: context), schema: source.schema, overscan: 0)
                    try view.activate(in: source)
                    index.insert(view)
                    clock.hold(view.query, in: source)
                    views.append(view)
                }
            }
            current = []
            current = try snapshots()
        }

        private func snapshots() throws -> [ViewSnapshot] {
            try views.map { try ViewSnapshot(of: $0.query, schema: source.schema, in: $0.readable(source)) }
        }

        /// Moves the time, and changes an object if one is named.
        func step(to time: Timestamp, _ edits: [(ObjectRef, Row?)]) throws {
            source.now = time
            let (plain, _) = source.commit(edits)
            let commit = try clock.passing(plain, in: source, by: [0])
            let before = OldStateSource(commit, over: source, schema: source.schema)
            let found = Set(try index.candidates(for: commit, in: source, before: before).map(ObjectIdentifier.init))
            let old = current
            current = try snapshots()
            let check = ViewCheck(commit, in: source, schema: source.schema)
            for (number, view) in views.enumerated() {
                let isFound = found.contains(ObjectIdentifier(view))
                let delta = isFound ? try view.apply(commit, in: source, before: before) : nil
                if isFound { index.update(view) }
                let problems = try check.problems(of: view, from: old[number], to: current[number], reporting: delta)
                #expect(problems.isEmpty, "\(label), \(view.query) at \(time)")
            }
            #expect(index.problems().isEmpty, "\(label)")
        }
    }

    @Test(arguments: kinds) func everyStepOfTheTimeInEverySmallStateIsFoundAndFollowed(kind: Kind) throws {
        let times = [5, 7, 10, 15, 21].map { Self.time($0) }
        var state = Self.domains.map { _ in 0 }
        while true {
            let still = try World(kind, state)
            for time in times { try still.step(to: time, []) }
            for position in Self.domains.indices {
                for other in Self.domains[position].rows.indices where other != state[position] {
                    let (object, rows) = Self.domains[position]
                    let row = rows[other].map { Row(key: object.key, version: 1, values: $0) }
                    // The object changes with the first step, or with a later one.
                    for changing in times.indices.dropLast() {
                        let world = try World(kind, state)
                        for (number, time) in times.enumerated() {
                            try world.step(to: time, number == changing ? [(object, row)] : [])
                        }
                    }
                }
            }
            guard let next = state.indices.first(where: { state[$0] + 1 < Self.domains[$0].rows.count }) else { break }
            for position in 0..<next { state[position] = 0 }
            state[next] += 1
        }
    }
}
