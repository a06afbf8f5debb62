import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

/// A database of flights in memory, whose commits R5 lets views follow.
final class ViewsWorld {
    static let airport = 0
    static let plane = 1
    static let flight = 2

    let schema: Schema
    let storage: SQLiteServerStorage
    private var version: UInt64 = 0

    /// - Parameters:
    ///   - airportCount: how many airports there are, named `a0`, `a1` and so on.
    ///   - planeCount: how many planes there are, with the tail numbers 0, 1 and so on.
    ///   - flightCount: how many flights there are, with the numbers 0, 1 and so on, from one airport after the other.
    init(airportCount: Int, planeCount: Int, flightCount: Int) throws {
        schema = try Schema([
            ClassSchema(
                "Airport", primaryKey: "code",
                properties: [Property("code", .scalar(.int)), Property("name", .scalar(.string))]),
            ClassSchema("Plane", primaryKey: "tail", properties: [Property("tail", .scalar(.int))]),
            ClassSchema(
                "Flight", primaryKey: "number",
                properties: [
                    Property("number", .scalar(.int)), Property("carrier", .scalar(.string)),
                    Property("remark", .scalar(.string)), Property("delay", .scalar(.int)),
                    Property("distance", .scalar(.int)), Property("origin", .link("Airport")),
                    Property("plane", .link("Plane")),
                ]),
        ])
        storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("the server", "the benchmark"))
            for number in 0..<airportCount {
                try insert(Self.airport, number, [.int(Int64(number)), .string("a\(number)")])
            }
            for number in 0..<planeCount { try insert(Self.plane, number, [.int(Int64(number))]) }
            for number in 0..<flightCount {
                try insert(
                    Self.flight, number,
                    [
                        .int(Int64(number)), .string("c0"), .string("r0"), .int(Int64(number)), .int(0),
                        .link(.int(Int64(number % max(1, airportCount)))), .null,
                    ])
            }
        }
    }

    private func insert(_ classIndex: Int, _ number: Int, _ values: [Value]) throws {
        try storage.insert(SluiceModel.Row(key: .int(Int64(number)), values: values), ofClass: classIndex)
    }

    /// Changes one property of one object, and returns the commit and the state before it.
    func change(
        _ classIndex: Int, _ number: Int, _ property: String, to value: Value
    ) throws -> (commit: CommitDelta, before: OldStateSource) {
        let object = ObjectRef(classIndex, .int(Int64(number)))
        guard let old = try storage.row(object),
            let position = schema[classIndex].properties.firstIndex(where: { $0.name == property })
        else { throw BenchmarkError("there is no \(property) of \(object)") }
        var values = old.values
        values[position] = value
        let new = SluiceModel.Row(key: old.key, values: values)
        try storage.transaction {
            try storage.update(new, ofClass: classIndex, changed: [position])
        }
        version += 1
        let commit = CommitDelta(
            changes: [ObjectDelta(object: object, old: old, new: new, authors: [0])], version: version)
        return (commit, OldStateSource(commit, over: storage, schema: schema))
    }
}
