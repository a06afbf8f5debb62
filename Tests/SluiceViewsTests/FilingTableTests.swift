import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceViews

/// What a change finds among thousands of observers: those that it could concern, and no others.
@Suite struct FilingTableTests {
    private let schema = TestSchema.schema
    private let flight = TestSchema.object(1, ofClass: TestSchema.flight)

    private func found(_ table: FilingTable, _ change: ObjectDelta) -> [UInt64] {
        let source = MemorySource()
        let plane = TestSchema.object(1, ofClass: TestSchema.plane)
        source.set(plane, TestSchema.row(plane, ["seats": .int(5)]))
        var numbers: Set<UInt64> = []
        table.forEachCandidate(of: change, schema: schema) { numbers.insert($0) }
        table.forEachCandidate(of: change, in: source, before: source) { numbers.insert($0) }
        return numbers.sorted()
    }

    private func change(_ object: ObjectRef, _ old: [String: Value], _ new: [String: Value]) -> ObjectDelta {
        ObjectDelta(object: object, old: TestSchema.row(object, old), new: TestSchema.row(object, new), authors: [])
    }

    private func table(_ queries: [Query]) -> FilingTable {
        let table = FilingTable()
        for (number, query) in queries.enumerated() {
            _ = table.insert(Filing(observing: query, schema: schema), UInt64(number))
        }
        return table
    }

    @Test(arguments: [500, 2_000])
    func aChangeOfOneObjectFindsItsObserversAlone(count: Int) throws {
        let objects = (0..<count).map { TestSchema.object($0, ofClass: TestSchema.flight) }
        let table = table(
            try objects.map { object in
                let id = Identity(className: "Flight", key: object.key).objectID
                return try TestSchema.query("OBJECT(\(id))")
            })
        #expect(found(table, change(objects[7], ["delay": .int(1)], ["delay": .int(2)])) == [7])
    }

    @Test(arguments: [500, 2_000])
    func aChangeFindsTheConditionsThatItMetBeforeOrMeetsNow(count: Int) throws {
        let table = table(try (0..<count).map { try TestSchema.query("Flight WHERE delay == \($0)") })
        #expect(found(table, change(flight, ["delay": .int(7)], ["delay": .int(9)])) == [7, 9])
        #expect(found(table, change(flight, ["delay": .int(7)], ["delay": .int(7)])) == [7])
    }

    @Test func aConditionOnWhatTheQueryExcludesDoesNotHideAChange() throws {
        let table = table([
            try TestSchema.query("Flight WHERE carrier == 'a' EXCLUDE(carrier)"),
            try TestSchema.query("Flight WHERE carrier == 'a'"),
        ])
        #expect(found(table, change(flight, ["carrier": .string("b")], ["carrier": .string("c")])) == [0])
    }

    @Test func anObjectThatLacksTheConditionsPropertyFindsAll() throws {
        let table = table([
            try TestSchema.query("Flight WHERE carrier == 'a'"), try TestSchema.query("Flight WHERE carrier == 'b'"),
        ])
        let property = try #require(schema[TestSchema.flight].properties.firstIndex { $0.name == "carrier" })
        var row = TestSchema.row(flight, ["carrier": .string("")])
        row.absent.insert(property)
        let change = ObjectDelta(object: flight, old: row, new: row, authors: [])
        #expect(found(table, change) == [0, 1])
    }

    @Test func whatIsTakenOutIsFoundNoMore() throws {
        let queries = try ["Flight", "Flight WHERE delay == 1", "Flight WHERE plane.seats > 3"].map {
            try TestSchema.query($0)
        }
        let table = FilingTable()
        let placements = queries.enumerated().map { number, query in
            table.insert(Filing(observing: query, schema: schema), UInt64(number))
        }
        let row: [String: Value] = ["delay": .int(1), "plane": .link(TestSchema.key(1, ofClass: TestSchema.plane))]
        let change = change(flight, row, row)
        #expect(found(table, change) == [0, 1, 2])
        for (number, placement) in placements.enumerated() { table.remove(placement, UInt64(number)) }
        #expect(found(table, change).isEmpty)
    }
}
