import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceViews

/// For each way in which views are filed and each kind of state, all small states and all changes of one object in
/// them: what the index finds, what the views then hold and report, and where they are filed, beside the oracle.
@Suite(.ownThread) struct ExhaustiveFilingTests {
    /// Queries that are filed in one way, all in one index.
    struct Kind: CustomTestStringConvertible, Sendable {
        let name: String
        let queries: [String]
        /// What the queries exclude; nil for as many links as possible.
        var excluded: String?
        /// What the readers may read: one context for each element, beside that of a reader of everything.
        var contexts: [[String]] = []

        var testDescription: String { name }
    }

    static let kinds = [
        Kind(name: "equality", queries: ["Item WHERE name == 'a'", "Item WHERE name == 'b'", "Item WHERE id == 1"]),
        Kind(name: "IN", queries: ["Item WHERE name IN {'a', 'c'}", "Item WHERE count IN {1, 2}"]),
        Kind(
            name: "range",
            queries: ["Item WHERE count > 1", "Item WHERE count <= 1", "Item WHERE count BETWEEN {1, 2}"]),
        Kind(name: "null", queries: ["Item WHERE count == NULL", "Item WHERE count != 2", "Item WHERE main == NULL"]),
        Kind(
            name: "parts of texts",
            queries: [
                "Item WHERE name BEGINSWITH 'a'", "Item WHERE name ENDSWITH 'b'", "Item WHERE name CONTAINS 'b'",
                "Item WHERE name LIKE '?b'",
            ]),
        Kind(
            name: "OR",
            queries: ["Item WHERE name == 'a' OR count == 2", "Item WHERE name == 'ab' OR main.weight == 3"]),
        Kind(
            name: "[c]",
            queries: ["Item WHERE name ==[c] 'A'", "Item WHERE name !=[c] 'A'", "Item WHERE main.name CONTAINS[c] 'X'"]),
        Kind(
            name: "link path",
            queries: [
                "Item WHERE main.weight == 1", "Item WHERE main.weight > 1", "Item WHERE main.name != 'x'",
                "Item WHERE main.next.name == 'x'", "Item WHERE NOT main.weight == 3",
            ]),
        Kind(
            name: "any of many",
            queries: [
                "Item WHERE ANY parts.weight > 1", "Item WHERE ANY parts.name ==[c] 'X'",
                "Item WHERE ANY parts.next.name == 'x'", "Item WHERE ANY parts.name != 'x'",
            ]),
        Kind(
            name: "elements",
            queries: [
                "Item WHERE ANY tags == 's'", "Item WHERE ANY tags != 's'", "Item WHERE tags[0] == 't'",
                "Item WHERE ANY tags CONTAINS[c] 'T'",
            ]),
        Kind(
            name: "ALL",
            queries: [
                "Item WHERE ALL parts.weight > 1", "Item WHERE ALL parts.name == 'x'",
                "Item WHERE ALL parts.next.weight < 3", "Item WHERE ALL tags == 't'", "Item WHERE ALL tags != 's'",
            ]),
        Kind(
            name: "NONE",
            queries: [
                "Item WHERE NONE parts.name == 'y'", "Item WHERE NONE parts.weight > 1", "Item WHERE NONE tags == 's'",
            ]),
        Kind(
            name: "counts",
            queries: [
                "Item WHERE parts.@count > 1", "Item WHERE tags.@count == 1", "Item WHERE main.@links.@count == 2",
                "Part WHERE @links.Item.parts.@count == 1", "Part WHERE ANY @links.Item.main.name == 'a'",
            ]),
        Kind(
            name: "aggregates",
            queries: [
                "Item WHERE parts.@sum.weight == 4", "Item WHERE parts.@max.weight > 1",
                "Part WHERE @links.Item.main.@min.count == 1",
            ]),
        Kind(
            name: "arithmetic",
            queries: [
                "Item WHERE count + 1 == 2", "Item WHERE count + main.weight > 2", "Item WHERE count * 2 IN {2, 4}",
                "Item WHERE ANY parts.weight + count == 3", "Item WHERE ALL parts.weight + 1 > 2",
                "Item WHERE count / 2.0 < 1", "Item WHERE count - 1 != 0",
            ]),
        Kind(
            name: "two values",
            queries: ["Item WHERE count == main.weight AND name == 'a'", "Item WHERE main == parts[0] AND count > 0"]),
        Kind(
            name: "SUBQUERY",
            queries: [
                "Item WHERE SUBQUERY(parts, $p, $p.name == 'x').@count > 0",
                "Item WHERE SUBQUERY(parts, $p, $p.name == 'x' AND $p.weight > 0).@count == 1",
                "Item WHERE SUBQUERY(parts, $p, $p.name == 'x' OR $p.weight == 3).@count > 1",
                "Item WHERE SUBQUERY(parts, $p, $p.name == 'y' AND $p.next.weight == 1).@count >= 1",
                "Item WHERE SUBQUERY(parts, $p, $p.name == 'x').@count == 0",
            ]),
        Kind(
            name: "SUBQUERY and the object",
            queries: [
                "Item WHERE SUBQUERY(parts, $p, $p.weight > count AND $p.name == 'y').@count > 0",
                "Item WHERE SUBQUERY(parts, $p, $p.weight == 3 AND main.name == 'x').@count > 0",
                "Part WHERE SUBQUERY(@links.Item.parts, $i, $i.name == 'a').@count > 0",
            ]),
        Kind(
            name: "window",
            queries: [
                "Item SORT(count ASC) LIMIT(1)", "Item SORT(name DESC, count ASC) LIMIT(2)",
                "Item WHERE name == 'a' SORT(count DESC) LIMIT(1)",
            ]),
        Kind(
            name: "totals",
            queries: [
                "Item WHERE count > 1 SORT(count ASC) LIMIT(1) TOTAL", "Item SORT(name DESC) LIMIT(1) TOTAL",
                "Item WHERE main.weight > 1 LIMIT(1) TOTAL", "Item WHERE name == 'a' SORT(count DESC) LIMIT(0) TOTAL",
            ], contexts: [["Item WHERE name != 'b'"], ["Item WHERE main.weight == 1", "Part WHERE weight < 3"]]),
        Kind(
            name: "links of results alone", queries: ["Item WHERE count > 0", "Item SORT(count ASC) LIMIT(1)"],
            excluded: "parts, main.next"),
        Kind(
            name: "many links of results alone", queries: ["Item WHERE name == 'a'", "Item SORT(name DESC) LIMIT(1)"],
            excluded: "main, parts.next"),
        Kind(
            name: "window sorted behind links",
            queries: [
                "Item SORT(main.weight DESC) LIMIT(1)", "Item WHERE name == 'a' SORT(main.name ASC) LIMIT(1)",
                "Item WHERE ALL tags == 't' SORT(main.next.weight DESC) LIMIT(1)",
            ]),
        Kind(
            name: "DISTINCT",
            queries: [
                "Item SORT(count ASC) DISTINCT(name)", "Item WHERE name == 'a' SORT(main.weight ASC) DISTINCT(count)",
                "Item WHERE count > 0 SORT(count ASC) LIMIT(2) SORT(name ASC) LIMIT(1)",
            ]),
        Kind(
            name: "object",
            queries: (0...1 as ClosedRange<Int64>).flatMap { number in
                ["Item", "Part"].map { name in
                    "OBJECT(\(Identity(className: name, key: .int(number)).objectID))"
                }
            }),
        Kind(
            name: "context",
            queries: [
                "Item", "Item WHERE main.weight > 0", "Item WHERE ALL parts.weight == 1", "Part WHERE name == 'x'",
                "Item SORT(main.weight DESC) LIMIT(1)",
            ],
            contexts: [
                ["Part WHERE weight > 1"], ["Item WHERE main.name == 'x'"],
                ["Item WHERE name == 'a'", "Part WHERE next.name == 'x' OR name == 'y'"],
            ]),
        Kind(
            name: "context of many",
            queries: ["Item WHERE name == 'a'", "Item WHERE ANY parts.weight > 0", "Item WHERE tags.@count == 1"],
            contexts: [["Part WHERE ANY @links.Item.main.name == 'a'"], ["Part WHERE FALSEPREDICATE"]]),
    ]

    private static let schema: Schema = {
        do {
            return try Schema([
                ClassSchema(
                    "Item", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("name", .scalar(.string)),
                        Property("count", .scalar(.int, isOptional: true)),
                        Property("tags", PropertyType(.scalar(.string), container: .list)),
                        Property("parts", .links("Part")), Property("main", .link("Part")),
                    ]),
                ClassSchema(
                    "Part", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("name", .scalar(.string)),
                        Property("weight", .scalar(.int, isOptional: true)), Property("next", .link("Part")),
                    ]),
            ])
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    /// The states that each object may be in; nil is its absence.
    private static let domains: [(object: ObjectRef, rows: [[Value]?])] = {
        func links(_ numbers: Int64...) -> Value { .list(numbers.map { .link(.int($0)) }) }
        func tags(_ texts: String...) -> Value { .list(texts.map { .string($0) }) }
        return [
            (
                ObjectRef(0, .int(0)),
                [
                    nil, [.int(0), .string("a"), .int(1), tags(), links(), .null],
                    [.int(0), .string("ab"), .int(2), tags("s"), links(0), .link(.int(0))],
                    [.int(0), .string("A"), .null, tags("t", "s"), links(0, 1), .link(.int(1))],
                ]
            ),
            (
                ObjectRef(0, .int(1)),
                [
                    [.int(1), .string("a"), .int(0), tags("t"), links(1, 0), .link(.int(1))],
                    [.int(1), .string("b"), .int(3), tags("t"), links(0), .link(.int(1))],
                ]
            ),
            (
                ObjectRef(1, .int(0)),
                [
                    nil, [.int(0), .string("x"), .int(1), .null], [.int(0), .string("y"), .int(3), .link(.int(1))],
                ]
            ),
            (ObjectRef(1, .int(1)), [nil, [.int(1), .string("x"), .int(1), .link(.int(0))]]),
        ]
    }()

    @Test(arguments: kinds) func everyChangeOfEverySmallStateIsFoundAndFollowed(kind: Kind) throws {
        let source = MemorySource(schema: Self.schema)
        for (object, rows) in Self.domains {
            source.set(object, rows[0].map { Row(key: object.key, version: 1, values: $0) })
        }
        let contexts = try [ReadContext.everything] + kind.contexts.map { try ReadContext($0, schema: Self.schema) }
        let index = ViewIndex(schema: Self.schema)
        var views: [LiveView] = []
        for (number, text) in kind.queries.enumerated() {
            // Without links that are followed, a change of a linked object finds the view by its conditions alone. A
            // link by which the query sorts has to be followed.
            let links =
                kind.excluded
                ?? (text.hasPrefix("Part") ? "next" : text.contains("SORT(main") ? "parts" : "parts, main")
            let excluding = text.hasPrefix("OBJECT") ? nil : "\(text) EXCLUDE(\(links))"
            for text in [number == 0 || excluding == nil ? text : nil, excluding].compactMap(\.self) {
                let query = try Query.parse(text, schema: Self.schema)
                for context in contexts {
                    let view = LiveView(query.read(in: context), schema: Self.schema, overscan: 0)
                    try view.activate(in: source)
                    index.insert(view)
                    views.append(view)
                }
            }
        }
        var failures = 0
        var state = Self.domains.map { _ in 0 }
        // The oracle is asked once about each view in each state, and not once for each way there.
        var snapshots: [[Int]: [ViewSnapshot]] = [:]
        func snapshot() throws -> [ViewSnapshot] {
            if let known = snapshots[state] { return known }
            let made = try views.map { try ViewSnapshot(of: $0.query, schema: Self.schema, in: $0.readable(source)) }
            snapshots[state] = made
            return made
        }
        var current = try snapshot()
        func change(_ position: Int, to value: Int) throws {
            let (object, rows) = Self.domains[position]
            let row = rows[value].map { Row(key: object.key, version: 1, values: $0) }
            let (commit, before) = source.commit((object, row))
            state[position] = value
            guard !commit.changes.isEmpty else { return }
            let old = current
            current = try snapshot()
            let found = Set(try index.candidates(for: commit, in: source, before: before).map(ObjectIdentifier.init))
            let check = ViewCheck(commit, in: source, schema: Self.schema)
            for (number, view) in views.enumerated() {
                let isFound = found.contains(ObjectIdentifier(view))
                let delta = isFound ? try view.apply(commit, in: source, before: before) : nil
                if isFound { index.update(view) }
                let problems = try check.problems(
                    of: view, from: old[number], to: current[number], reporting: delta)
                if !problems.isEmpty, failures < 3 {
                    failures += 1
                    Issue.record("\(commit.changes.map { ($0.old?.values, $0.new?.values) }): \(problems)")
                }
            }
        }
        // From each state to each that differs in one object and back, then on to the next state.
        while true {
            for position in Self.domains.indices {
                let own = state[position]
                for other in Self.domains[position].rows.indices where other > own {
                    try change(position, to: other)
                    try change(position, to: own)
                }
            }
            let problems = index.problems()
            #expect(problems.isEmpty)
            guard let next = state.indices.first(where: { state[$0] + 1 < Self.domains[$0].rows.count }) else { break }
            for position in 0..<next { try change(position, to: 0) }
            try change(next, to: state[next] + 1)
        }
        for view in views { index.remove(view) }
        #expect(index.count == 0)
        #expect(index.problems().isEmpty)
    }
}
