import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

/// C3: GROUP over as many flights as New York had in 2013, in 16 groups and in 4,000: to compute them when the first view
/// opens, and then to follow commits of one flight, beside computing them anew.
struct GroupsRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() throws -> [Measurement] {
        let count = workbench.options.size(336_776, quick: 5_000)
        return try [16, workbench.options.size(4_000, quick: 400)].flatMap { groupCount in
            try [
                "AGGREGATE(@count, @avg.delay, @max.delay)", "AGGREGATE(@count, @avg.delay) SORT(@count DESC) LIMIT(5)",
            ]
            .flatMap { try measure($0, groupCount, of: count) }
        }
    }

    private func measure(_ clauses: String, _ groupCount: Int, of count: Int) throws -> [Measurement] {
        var (openings, rates, anew): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<workbench.options.runCount {
            let world = try GroupsWorld(rowCount: count, groupCount: groupCount, clauses: clauses)
            openings.append(world.openingTime / .milliseconds(1))
            let roundCount = workbench.options.size(20_000, quick: 200)
            var duration = Duration.zero
            for round in 0..<roundCount {
                let commit = try world.commit(round)
                let start = ContinuousClock.now
                try world.follow(commit)
                duration += ContinuousClock.now - start
            }
            rates.append(Double(roundCount) / (duration / .seconds(1)))
            let again = try ContinuousClock().measure { try check(world.shown, is: world.expected(), "the groups") }
            anew.append(1 / (again / .seconds(1)))
        }
        let title = "\(Double(groupCount).shown) groups of \(Double(count).shown), \(clauses)"
        return [
            Measurement(.groups, "\(title): to open", ours: openings.median, unit: "ms", goal: .none),
            Measurement(
                .groups, "\(title): one flight moves, beside computing anew", ours: rates, floor: anew,
                unit: "updates/s", goal: .ratioAtLeast(1_000)),
        ]
    }
}

/// A database of flights, and a view of groups of them.
private final class GroupsWorld {
    private let schema: Schema
    private let storage: SQLiteServerStorage
    private let view: LiveView
    private let rowCount: Int
    private let groupCount: Int
    private var version: UInt64 = 0
    /// How long the view took to compute its groups.
    let openingTime: Duration

    init(rowCount: Int, groupCount: Int, clauses: String) throws {
        let schema = try Schema([
            ClassSchema(
                "Flight", primaryKey: "number",
                properties: [
                    Property("number", .scalar(.int)), Property("carrier", .scalar(.string)),
                    Property("delay", .scalar(.int, isOptional: true)),
                ])
        ])
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        self.schema = schema
        self.storage = storage
        self.rowCount = rowCount
        self.groupCount = groupCount
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("the server", "the benchmark"))
            for number in 0..<rowCount {
                try storage.insert(
                    Self.row(number, group: Int(Mixer.mix(number) % UInt64(groupCount)), delay: number % 300),
                    ofClass: 0)
            }
        }
        let query = try Query.parse("Flight GROUP(carrier) \(clauses)", schema: schema)
        let view = LiveView(query, schema: schema)
        openingTime = try ContinuousClock().measure { try view.activate(in: storage) }
        self.view = view
    }

    private static func row(_ number: Int, group: Int, delay: Int) -> SluiceModel.Row {
        SluiceModel.Row(
            key: .int(Int64(number)),
            values: [.int(Int64(number)), .string("c\(group)"), delay % 30 == 0 ? .null : .int(Int64(delay))])
    }

    /// Stores a change of one flight: of its group in every second round, else of its delay.
    func commit(_ round: Int) throws -> CommitDelta {
        let number = Int(Mixer.mix(round) % UInt64(rowCount))
        let object = ObjectRef(0, .int(Int64(number)))
        let old = try storage.row(object)
        var new = old
        if round % 2 == 0 {
            new?.values[1] = .string("c\(Int(Mixer.mix(round + 1) % UInt64(groupCount)))")
        } else {
            new?.values[2] = .int(Int64(round % 400))
        }
        if let new { try storage.transaction { try storage.update(new, ofClass: 0, changed: [1, 2]) } }
        version += 1
        return CommitDelta(changes: [ObjectDelta(object: object, old: old, new: new, authors: [0])], version: version)
    }

    func follow(_ commit: CommitDelta) throws {
        let before = OldStateSource(commit, over: storage, schema: schema)
        _ = try view.apply(commit, in: storage, before: before)
    }

    private func ordered(_ groups: [GroupFigures]) -> [GroupFigures] { view.query.aggregates?.shown(groups) ?? [] }

    var shown: [GroupFigures] { ordered(view.figures ?? []) }

    func expected() throws -> [GroupFigures] { ordered(try storage.figures(of: view.query, schema: schema) ?? []) }
}
