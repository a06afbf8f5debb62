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
}
