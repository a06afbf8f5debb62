import Sluice
import SluiceModel
import Testing

@Suite struct RecordElementTests {
    @Test func recordsAreReadAndWrittenLikeModels() throws {
        let schema = try Schema([ManualPlane.modelDefinition.classSchema])
        let binding = try ElementBinding(Record.self, className: "Plane", schema: schema)
        let record = try Record(schema[0], ["tailnum": .string("N1"), "seats": .int(4)])
        let row = try record.encoded(for: binding)
        #expect(row.key == .string("N1") && row.values == [.string("N1"), .int(4)] && row.absent.isEmpty)
        #expect(try Record.decode(row, binding)["seats"] == .int(4))
        let typed = try ElementBinding(ManualPlane.self, className: "Plane", schema: schema)
        #expect(try ManualPlane.decode(row, typed).seats == 4)
    }

    @Test func aRecordOfAnOlderSchemaLeavesNewPropertiesAbsent() throws {
        let old = try ClassSchema("Plane", properties: [Property("seats", .scalar(.int))])
        let new = try Schema([
            ClassSchema("Plane", properties: [Property("maker", .scalar(.string)), Property("seats", .scalar(.int))])
        ])
        let record = try Record(old, ["seats": .int(4)])
        let row = try record.encoded(for: ElementBinding(Record.self, className: "Plane", schema: new))
        #expect(row.values[1] == .int(4) && row.absent == [0])
        #expect(row.key == record.key)
    }

    /// A transaction makes each row that it inserts in the storage of the one before.
    @Test func `a row that is made in the place of another has nothing of it`() throws {
        let declared = try ClassSchema(
            "Plane", primaryKey: "tailnum",
            properties: [
                Property("maker", .scalar(.string), default: .string("m")), Property("seats", .scalar(.int)),
                Property("tailnum", .scalar(.string)),
            ])
        let binding = try ElementBinding(ManualPlane.self, className: "Plane", schema: Schema([declared]))
        let whole = ManualPlane(tailnum: "N2", seats: 9)
        // Its seats were excluded when it was read.
        let partial = try ManualPlane.decode(
            Row(key: .string("N3"), values: [.string("m"), .int(0), .string("N3")], absent: [1]), binding)
        let cases: [(ManualPlane, Int64, PropertySet)] = [(whole, 9, [0]), (partial, 0, [0, 1])]
        for (plane, seats, absent) in cases {
            let former: [Value] = [.string("Boeing"), .int(4), .string("N1")]
            var encoder = RowEncoder(binding, metadata: plane.objectMetadata, storage: former)
            try plane.encode(to: &encoder)
            let row = encoder.finish()
            #expect(row.values == [.string("m"), .int(seats), .string(plane.tailnum)] && row.absent == absent)
            #expect(try row == plane.encoded(for: binding))
        }
    }
}
