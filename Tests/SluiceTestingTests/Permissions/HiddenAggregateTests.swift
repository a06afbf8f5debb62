import Sluice
import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Figures under rules: nobody's figure says anything of what its reader may not read.
@Suite struct HiddenAggregateTests {
    private typealias World = RuledWorld

    private static let queries = [
        "Document AGGREGATE(@count, @sum.id, @avg.id, @max.id, @min.id)",
        "Document WHERE text != 'x' AGGREGATE(@max.id)",
        "Document GROUP(text) AGGREGATE(@count, @max.id)", "Document GROUP(team) AGGREGATE(@count, @sum.id)",
        "Document GROUP(team) AGGREGATE(@count) SORT(@count DESC) LIMIT(1)",
        "Document GROUP(team.id) AGGREGATE(@min.id, @max.team.id)",
    ]

    @Test(arguments: queries) func whatIsHiddenIsInNoFigureAndNoWriteToItIsToldOf(query: String) throws {
        let world = try World(users: ["ada", "bob"])
        try world.setTeam(7, ["ada"])
        try world.create(World.document(1, team: 7), World.document(2), World.document(9, isPublic: true))
        for user in ["ada", "bob"] {
            try world.observe(user, query)
            world.addReader(user).observe(query)
            world.settle()
        }
        try expectFigures(world, query)
        let counts = ["ada", "bob"].map { world[$0].frames.count }
        let told = world.readers.map(\.changeCount)
        // Documents of nobody and of another team come, change and go.
        try world.setTeam(8, ["root"])
        for key in 20..<30 as Range<Int64> { try world.create(World.document(key, team: key % 2 == 0 ? 8 : nil)) }
        for key in 20..<30 as Range<Int64> {
            try world.update("root", key, World.Field.text, .string("secret \(key)"))
            try world.write("root") { try $0.delete(World.document(key)) }
        }
        #expect(["ada", "bob"].map { world[$0].frames.count } == counts)
        #expect(world.readers.map(\.changeCount) == told, "pages are told of it")
        try expectFigures(world, query)
    }

    /// By any sequence of writes: rights, teams, documents and their teams change at random, and after each change every
    /// figure is of what its reader may read, in a store and on a page, which comes and goes.
    @Test(arguments: 1...12 as ClosedRange<UInt64>) func noSequenceOfWritesMakesAFigureWrong(seed: UInt64) throws {
        try World.writeAtRandom(seed: seed, observing: Self.queries, expectFigures)
    }

    /// Compares what each client shows with what its user may read, read naively.
    private func expectFigures(_ world: RuledWorld, _ text: String) throws {
        world.check()
        #expect(world.problems == [])
        for user in ["ada", "bob"] {
            let storage = world[user].storage
            let query = try Query.parse(text, schema: storage.schema)
            let aggregates = try #require(query.aggregates)
            var members: [[Value]: [[Value]]] = aggregates.isGrouped ? [:] : [[]: []]
            for key in try world.readable(user) {
                guard let row = try world.server.row(World.document(key)) else { continue }
                if text.contains("text != 'x'"), row.values[World.Field.text] == .string("x") { continue }
                var team = row.values[World.Field.team]
                if case .link(.int(let id)) = team, try !world.mayRead(world[user], World.team(id)) { team = .null }
                let teamID: Value = if case .link(let key) = team { key.value } else { .null }
                let values = query.positionPaths.map { path -> Value in
                    switch path.text.trimmingPrefix("\\") {
                    case "id": .int(key)
                    case "text": row.values[World.Field.text]
                    case "team": team
                    default: teamID
                    }
                }
                members[Array(values.prefix(aggregates.groups.count)), default: []].append(values)
            }
            let columns = members.map { keys, rows -> [Value] in
                keys + aggregates.functions.map { Self.result(of: $0, rows) }
            }
            let expected = columns.sorted { aggregates.compare($0, $1) < 0 }.prefix(aggregates.limit ?? .max)
            let shown = try #require(try storage.groups(of: query))
            #expect(shown.groups.map(aggregates.columns) == Array(expected) && shown.isExact, "\(user): \(text)")
            for reader in world.readers where reader.user == user && reader.isConnected {
                let rows = try expected.map { try Self.row(aggregates.columnNames, $0) }
                #expect(reader.figures(text) == rows, "\(user)'s page: \(text)")
            }
        }
    }

    /// A group as ``JSONReader/figures(_:)`` has it.
    private static func row(_ names: [String], _ columns: [Value]) throws -> [String: JSONValue] {
        var writer = JSONWriter(quotesLargeIntegers: true)
        writer.raw("{")
        writer.members(names, columns, isFirst: true)
        writer.raw("}")
        guard case .object(let members) = try JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self)) else {
            return [:]
        }
        return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    }

    private static func result(of function: Query.Aggregates.Function, _ rows: [[Value]]) -> Value {
        guard case .value(let operation, let path, let type) = function else { return .int(Int64(rows.count)) }
        var aggregation = Aggregation(operation, of: type)
        for row in rows { aggregation.add(row[path]) }
        return aggregation.result
    }
}
