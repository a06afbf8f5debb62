import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

/// R7: keeping a window of 50 rows of 100,000 right, wherever in the order an object changes. Measured is what a decoded
/// commit of one object costs the view, what the window reads from the database (in memory) included, and the index that
/// finds the view.
struct WindowUpkeepRow {
    private enum Place: String, CaseIterable {
        case outside = "far outside"
        case inside = "inside, moved"
        case shown = "inside, another property"
        case boundary = "across the limit"
        case top = "inserted at the top"
        case deletion = "deleted at the top"
    }

    private static let limit = 50

    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() throws -> [Measurement] {
        var measurements: [Measurement] = []
        for isIndexed in [true, false] {
            for place in Place.allCases {
                var rates: [Double] = []
                for _ in 0..<workbench.options.runCount { rates.append(try run(place, isIndexed: isIndexed)) }
                measurements.append(
                    Measurement(
                        .windowUpkeep, "\(place.rawValue)\(isIndexed ? "" : ", no index")", ours: rates.median,
                        unit: "updates/s", goal: .atLeast(isIndexed ? 300_000 : 100_000), samples: ["ours": rates]))
            }
        }
        return measurements
    }

    /// - Returns: updates in a second.
    private func run(_ place: Place, isIndexed: Bool) throws -> Double {
        let count = workbench.options.size(100_000, quick: 2_000)
        let roundCount = workbench.options.size(20_000, quick: 500)
        let world = try WindowUpkeepWorld(rowCount: count, limit: Self.limit, isIndexed: isIndexed)
        var duration = Duration.zero
        var changeCount = 0
        for round in 0..<roundCount {
            let commit = try world.commit {
                let number = place == .deletion ? round : 1_000 + Int(Mixer.mix(round) % UInt64(count - 1_000))
                let shown = Int(Mixer.mix(round) % 40)
                switch place {
                case .outside: return world.update(number, rank: count + round)
                case .inside: return world.update(shown, rank: (shown * 7 + round) % 45 * 2)
                case .shown: return world.update(shown, remark: "r\(round)")
                case .boundary: return world.update(3, rank: round % 2 == 0 ? Self.limit * 2 + 40 : 6)
                case .top: return world.insert(count + round, rank: -1 - round)
                case .deletion: return world.delete(round)
                }
            }
            let start = ContinuousClock.now
            let delta = try world.follow(commit)
            duration += ContinuousClock.now - start
            if delta != nil { changeCount += 1 }
        }
        try check(changeCount > 0, is: place != .outside, "whether the window changed")
        try check(world.shown, is: try world.expected(), "the window")
        return Double(roundCount) / (duration / .seconds(1))
    }
}

/// A database of rows with a rank, and a window over it.
final class WindowUpkeepWorld {
    private let schema: Schema
    private let storage: SQLiteServerStorage
    private let view: LiveView
    private let index: ViewIndex
    private var version: UInt64 = 0
    /// How long the view took to read its rows, and to count if it does.
    let openingTime: Duration

    /// - Parameters:
    ///   - rowCount: how many rows there are, numbered from 0, with twice their numbers as ranks.
    ///   - isIndexed: whether the rank has an index.
    ///   - hasTotal: whether the window counts what matches.
    init(rowCount: Int, limit: Int, isIndexed: Bool, hasTotal: Bool = false) throws {
        let schema = try Schema([
            ClassSchema(
                "Entry", primaryKey: "number",
                properties: [
                    Property("number", .scalar(.int)), Property("rank", .scalar(.int), isIndexed: isIndexed),
                    Property("remark", .scalar(.string)),
                ])
        ])
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        self.schema = schema
        self.storage = storage
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("the server", "the benchmark"))
            for number in 0..<rowCount {
                try storage.insert(WindowUpkeepWorld.row(number, rank: number * 2), ofClass: 0)
            }
        }
        let query = try Query.parse(
            "TRUEPREDICATE SORT(rank ASC) LIMIT(\(limit))\(hasTotal ? " TOTAL" : "")", className: "Entry",
            schema: schema)
        let view = LiveView(query, schema: schema)
        openingTime = try ContinuousClock().measure { try view.activate(in: storage) }
        self.view = view
        index = ViewIndex(schema: schema)
        index.insert(view)
    }

    private static func row(_ number: Int, rank: Int, remark: String = "") -> SluiceModel.Row {
        SluiceModel.Row(
            key: .int(Int64(number)), values: [.int(Int64(number)), .int(Int64(rank)), .string(remark)])
    }

    typealias Change = (number: Int, alter: (SluiceModel.Row?) -> SluiceModel.Row?)

    func update(_ number: Int, rank: Int) -> Change {
        (
            number,
            { old in
                var new = old
                new?.values[1] = .int(Int64(rank))
                return new
            }
        )
    }

    func update(_ number: Int, remark: String) -> Change {
        (
            number,
            { old in
                var new = old
                new?.values[2] = .string(remark)
                return new
            }
        )
    }

    func insert(_ number: Int, rank: Int) -> Change { (number, { _ in Self.row(number, rank: rank) }) }

    func delete(_ number: Int) -> Change { (number, { _ in nil }) }

    /// Stores a change.
    func commit(_ change: () -> Change) throws -> CommitDelta {
        let (number, alter) = change()
        let object = ObjectRef(0, .int(Int64(number)))
        let old = try storage.row(object)
        let new = alter(old)
        try storage.transaction {
            switch (old, new) {
            case (nil, let new?): try storage.insert(new, ofClass: 0)
            case (.some, let new?): try storage.update(new, ofClass: 0, changed: [1, 2])
            case (.some, nil): try storage.delete(object, version: version + 1)
            case (nil, nil): throw BenchmarkError("there is no row \(number) to change")
            }
        }
        version += 1
        return CommitDelta(changes: [ObjectDelta(object: object, old: old, new: new, authors: [0])], version: version)
    }

    func follow(_ commit: CommitDelta) throws -> ViewDelta? {
        let before = OldStateSource(commit, over: storage, schema: schema)
        var delta: ViewDelta?
        for view in try index.candidates(for: commit, in: storage, before: before) {
            delta = try view.apply(commit, in: storage, before: before)
            index.update(view)
        }
        return delta
    }

    var shown: [ObjectRef] { view.heldRoots ?? [] }

    /// How many rows match; nil if they are not counted.
    var total: Int? { view.matchCount }

    func expectedTotal() throws -> Int { try storage.matchCount(of: view.query) }

    func expected() throws -> [ObjectRef] {
        Array(try storage.roots(matching: view.query, after: nil).prefix(view.query.limit ?? .max))
    }
}
