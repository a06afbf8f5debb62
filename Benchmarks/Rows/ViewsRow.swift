import CAllocationCounter
import SluiceModel
import SluiceQuery
import SluiceViews

/// R5: one commit of one row beside many live views of different queries: to find the views that it concerns, and to
/// work out what changes for them. With many views it should take as long as with few.
struct ViewsRow {
    /// A kind of query, and a change that concerns a few of many views of the kind.
    private struct Kind {
        let name: String
        /// The query of a view.
        let query: @Sendable (_ number: Int) -> String
        /// The class, object and property that a round changes, and the new value.
        let change: @Sendable (_ round: Int, _ count: Int) -> (Int, Int, String, Value)
        /// Whether each view holds rows, so that the largest number of them takes too much memory.
        var isWindow = false
        var counts: [Int]?
        /// What the reader of a view may read; everything if nil.
        var context: (@Sendable (_ number: Int) -> [String])?
    }

    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() throws -> [Measurement] { try (Self.kinds + Self.residualKinds).flatMap { try measure($0) } }

    /// C1: one commit beside many views that count what matches, and hold none of it.
    func measureCounts() throws -> [Measurement] {
        try Self.countedKinds.flatMap { try measure($0, as: .countedViews) }
    }

    /// A number of a view, different in each round.
    private static func target(_ round: Int, _ count: Int) -> Int { round * 7_919 % count }

    private static func flight(
        _ property: String, _ value: @escaping @Sendable (Int) -> Value
    ) -> @Sendable (Int, Int) -> (Int, Int, String, Value) {
        { round, count in (ViewsWorld.flight, 1, property, value(target(round, count))) }
    }

    private static let kinds: [Kind] = [
        Kind(
            name: "equality", query: { "Flight WHERE carrier == 'c\($0)' EXCLUDE(origin, plane)" },
            change: flight("carrier") { .string("c\($0)") }, counts: [1_000, 10_000, 100_000, 1_000_000]),
        Kind(
            name: "prefix", query: { "Flight WHERE remark BEGINSWITH 'r\($0).' EXCLUDE(origin, plane)" },
            change: flight("remark") { .string("r\($0).x") }),
        Kind(
            name: "range in the middle",
            query: { "Flight WHERE distance BETWEEN {\($0 * 10), \($0 * 10 + 9)} EXCLUDE(origin, plane)" },
            change: flight("distance") { .int(Int64($0 * 10 + 5)) }, counts: [1_000, 10_000, 100_000, 1_000_000]),
        Kind(
            name: "one object",
            query: { number in
                "OBJECT(\(Identity(className: "Flight", key: .int(Int64(number))).objectID))"
            },
            change: { round, count in
                (ViewsWorld.flight, target(round, min(count, 1_000)), "distance", .int(Int64(round)))
            }),
        Kind(
            name: "OR over two properties",
            query: { "Flight WHERE carrier == 'c\($0)' OR distance == \($0) EXCLUDE(origin, plane)" },
            change: flight("distance") { .int(Int64($0)) }),
        Kind(
            name: "CONTAINS", query: { "Flight WHERE remark CONTAINS '<\($0)>' EXCLUDE(origin, plane)" },
            change: flight("remark") { .string("a<\($0)>b") }),
        Kind(
            name: "one range for all, another equality",
            query: { "Flight WHERE delay > -5 AND carrier == 'c\($0)' EXCLUDE(origin, plane)" },
            change: flight("carrier") { .string("c\($0)") }),
        Kind(
            name: "a condition behind a link", query: { "Flight WHERE origin.name == 'a\($0)' EXCLUDE(origin, plane)" },
            change: flight("origin") { .link(.int(Int64($0 % 1_000))) }),
        Kind(
            name: "the same, when the linked object changes",
            query: { "Flight WHERE origin.name == 'a\($0)' EXCLUDE(origin, plane)" },
            change: { round, count in (ViewsWorld.airport, 1, "name", .string("a\(target(round, count))")) }),
        Kind(
            name: "a count of backlinks", query: { "Plane WHERE @links.Flight.plane.@count == \($0)" },
            change: { round, _ in (ViewsWorld.flight, 1, "plane", .link(.int(Int64(round % 1_000)))) }),
        Kind(
            name: "with links followed", query: { "Flight WHERE carrier == 'c\($0)'" },
            change: flight("carrier") { .string("c\($0)") }),
        Kind(
            name: "a window of a condition of its own",
            query: { "Flight WHERE carrier == 'c\($0)' SORT(delay ASC) LIMIT(20) EXCLUDE(origin, plane)" },
            change: flight("carrier") { .string("c\($0)") }, isWindow: true),
        Kind(
            name: "a window without a condition, outside",
            query: { "Flight WHERE distance != \(-1 - $0) SORT(delay ASC) LIMIT(20) EXCLUDE(origin, plane)" },
            change: { round, _ in (ViewsWorld.flight, 500, "delay", .int(Int64(500 + round))) }, isWindow: true),
    ]

    private static let countedKinds: [Kind] = [
        Kind(
            name: "a count by equality",
            query: { "Flight WHERE carrier == 'c\($0)' LIMIT(0) EXCLUDE(origin, plane) TOTAL" },
            change: flight("carrier") { .string("c\($0)") }, counts: [1_000, 100_000, 1_000_000]),
        Kind(
            name: "a count of a range",
            query: {
                "Flight WHERE distance BETWEEN {\($0 * 10), \($0 * 10 + 9)} LIMIT(0) EXCLUDE(origin, plane) TOTAL"
            },
            change: flight("distance") { .int(Int64($0 * 10 + 5)) }, counts: [1_000, 100_000, 1_000_000]),
    ]

    /// Kinds that no condition on a property of the results describes.
    private static let residualKinds: [Kind] = [
        Kind(
            name: "arithmetic", query: { "Flight WHERE distance * 2 + delay == \($0) EXCLUDE(origin, plane)" },
            change: flight("distance") { .int(Int64($0 / 2)) }),
        Kind(
            name: "ALL", query: { "Airport WHERE ALL @links.Flight.origin.distance == \($0)" },
            change: flight("distance") { .int(Int64($0)) }),
        Kind(
            name: "SUBQUERY",
            query: { "Airport WHERE SUBQUERY(@links.Flight.origin, $f, $f.carrier == 'c\($0)').@count > 0" },
            change: flight("carrier") { .string("c\($0)") }),
        Kind(
            name: "DISTINCT",
            query: { "Flight WHERE carrier == 'c\($0)' SORT(delay ASC) DISTINCT(distance) EXCLUDE(origin, plane)" },
            change: flight("carrier") { .string("c\($0)") }, isWindow: true),
        Kind(
            name: "a sort behind a link, when the linked object changes",
            query: { "Flight WHERE carrier == 'c\($0)' SORT(origin.name ASC) LIMIT(20) EXCLUDE(plane)" },
            change: { round, count in (ViewsWorld.airport, 1, "name", .string("a\(target(round, count))")) },
            isWindow: true),
        Kind(
            name: "readers of what is theirs", query: { _ in "Flight EXCLUDE(origin, plane)" },
            change: flight("origin") { .link(.int(Int64($0 % 1_000))) },
            context: { ["Flight WHERE origin.code == \($0)"] }),
        Kind(
            name: "readers of linked objects of theirs", query: { "Flight WHERE carrier == 'c\($0)'" },
            change: { round, count in (ViewsWorld.airport, 1, "name", .string("a\(target(round, count))")) },
            context: { ["Airport WHERE name == 'a\($0)'"] }),
    ]

    private struct Run {
        var find = 0.0
        var apply = 0.0
        var found = 0.0
        var byteCount = 0.0
    }

    private func measure(_ kind: Kind, as row: Row = .views) throws -> [Measurement] {
        let counts =
            workbench.options.isQuick
            ? [20, 80] : kind.counts ?? (kind.isWindow ? [1_000, 10_000] : [1_000, 10_000, 100_000])
        var runs: [Run] = []
        for count in counts { runs.append(try run(kind, count)) }
        guard let few = runs.first, let many = runs.last, let most = counts.last else { return [] }
        let title = "\(kind.name), \(Double(most).shown) views"
        return [
            Measurement(
                row, "\(title): to find", ours: many.find, floor: few.find, unit: "µs", goal: .atMost(10)),
            Measurement(
                row, "\(title): find and apply, beside \(Double(counts[0]).shown)", ours: many.find + many.apply,
                floor: few.find + few.apply, unit: "µs", goal: .ratioAtMost(1.5)),
            Measurement(
                row, "\(title): found", ours: many.found, unit: "views", goal: .atMost(max(4, few.found * 1.5))),
            Measurement(
                row, "\(title): memory of a view", ours: many.byteCount, unit: "bytes",
                goal: kind.context == nil ? .none : .atMost(1_024)),
        ]
    }

    /// - Returns: medians, in microseconds.
    private func run(_ kind: Kind, _ count: Int) throws -> Run {
        let world = try ViewsWorld(airportCount: 1_000, planeCount: 1_000, flightCount: 1_000)
        var shapes = ViewShapes(schema: world.schema)
        let index = ViewIndex(schema: world.schema)
        let before = held_byte_count()
        for number in 0..<count {
            var query = try Query.parse(kind.query(number), schema: world.schema)
            if let conditions = kind.context?(number) {
                query = query.read(in: try ReadContext(conditions, schema: world.schema))
            }
            let view = LiveView(query, shape: shapes.shape(of: query))
            try view.activate(in: world.storage)
            index.insert(view)
        }
        let byteCount = Double(held_byte_count() - before) / Double(count)
        var (findTimes, applyTimes): ([Double], [Double]) = ([], [])
        var found = 0
        let roundMax = workbench.options.size(300, quick: 5)
        let begin = ContinuousClock.now
        for round in 1...roundMax {
            // Where every view is found, a few rounds take long enough.
            if findTimes.count >= 3, ContinuousClock.now - begin > .seconds(3) { break }
            let (classIndex, object, property, value) = kind.change(round, count)
            let (commit, state) = try world.change(classIndex, object, property, to: value)
            let start = ContinuousClock.now
            let candidates = try index.candidates(for: commit, in: world.storage, before: state)
            let middle = ContinuousClock.now
            for view in candidates {
                _ = try view.apply(commit, in: world.storage, before: state)
                index.update(view)
            }
            let end = ContinuousClock.now
            findTimes.append((middle - start) / .microseconds(1))
            applyTimes.append((end - middle) / .microseconds(1))
            found += candidates.count
        }
        return Run(
            find: findTimes.median, apply: applyTimes.median, found: Double(found) / Double(findTimes.count),
            byteCount: byteCount)
    }
}
