import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import Testing

/// Reading what the matches of a query link to.
@Suite struct LinkCountTests {
    private static let schema = try! Schema([
        ClassSchema(
            "Flight", primaryKey: "number",
            properties: [
                Property("number", .scalar(.string)), Property("delay", .scalar(.int)),
                Property("plane", .link("Plane")), Property("airport", .link("Airport")),
                Property("crew", .links("Person")),
                Property("note", .scalar(.string)),
            ]),
        ClassSchema("Plane", primaryKey: "tail", properties: [Property("tail", .scalar(.int))]),
        ClassSchema("Airport", properties: [Property("name", .scalar(.string))]),
        ClassSchema("Person", primaryKey: "name", properties: [Property("name", .scalar(.string))]),
    ])

    private func storage(flightCount: Int) throws -> SQLiteServerStorage {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 2))
        try storage.write {
            _ = try storage.merge(Self.schema, sides: ("a", "b"))
            for number in 0..<flightCount {
                let key = "f\(number * 7919 % flightCount)"
                let airport = Value.link(.id(ObjectID(high: 3, low: UInt64(number % 4))))
                let values: [Value] = [
                    .string(key), .int(Int64(number % 50)), number % 3 == 0 ? .null : .link(.int(Int64(number % 5))),
                    airport, .list((0..<number % 3).map { .link(.string("p\($0)")) }),
                    .string(String(repeating: "x", count: 100)),
                ]
                try storage.insert(Row(key: .string(key), version: 1, values: values), ofClass: 0)
            }
        }
        return storage
    }

    private struct Link: Hashable {
        let property: Int
        let target: ObjectKey
    }

    @Test func linksAreThoseOfTheRowsThatMatch() throws {
        let storage = try storage(flightCount: 300)
        for text in [
            "Flight", "Flight WHERE delay > 20", "Flight WHERE plane != nil SORT(note ASC)", "Flight WHERE delay > 99",
            "Flight WHERE crew.@count > 1",
        ] {
            let query = try Query.parse(text, schema: storage.schema)
            for properties in [[2, 3, 4], [3], [4], []] as [PropertySet] {
                var expected: [Link: Int] = [:]
                try storage.forEachRow(matching: query) { row in
                    for property in properties {
                        row.values[property].forEachLink {
                            expected[Link(property: property, target: $0), default: 0] += 1
                        }
                    }
                    return true
                }
                var found: [Link: Int] = [:]
                try storage.links(fromMatchesOf: query, through: properties) {
                    found[Link(property: $0, target: $1), default: 0] += $2
                }
                #expect(found == expected, "\(text) through \(properties)")
            }
        }
    }

    @Test func nothingIsSortedAndNoOtherColumnIsReadForTheLinksOfAView() throws {
        let storage = try storage(flightCount: 2_000)
        let query = try Query.parse("Flight EXCLUDE(crew)", schema: storage.schema)
        func stepCount(_ body: () throws -> Void) throws -> Int {
            let work = WorkLimit(stepCountMax: .max, interval: 20)
            try storage.withWorkLimit(work, body)
            return work.stepCount
        }
        let reading = try stepCount { try storage.forEachRow(matching: query) { _ in true } }
        let activating = try stepCount { try LiveView(query, schema: storage.schema).activate(in: storage) }
        #expect(activating < reading, "\(activating) steps beside \(reading) for reading the rows")
    }
}
