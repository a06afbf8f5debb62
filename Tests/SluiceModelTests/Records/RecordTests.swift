import SluiceModel
import Testing

struct RecordTests {
    static func plane() throws -> ClassSchema {
        try ClassSchema(
            "Plane", primaryKey: "tail",
            properties: [
                Property("tail", .scalar(.string)), Property("seats", .scalar(.int)),
                Property("maker", .scalar(.string), default: .string("unknown")),
                Property("owner", .scalar(.string, isOptional: true)),
                Property("notes", PropertyType(.scalar(.string), container: .list)),
            ])
    }

    @Test func aRecordHasWhatItWasGivenAndDefaultsElsewhere() throws {
        let record = try Record(Self.plane(), ["tail": .string("N1"), "seats": .int(4)])
        #expect(record.key == .string("N1"))
        #expect(record.row.values == [.string("N1"), .int(4), .string("unknown"), .null, .list([])])
        #expect(record.identity == Identity(className: "Plane", key: .string("N1")))
        #expect(record["maker"] == .string("unknown"))
        #expect(record["wings"] == nil)
    }

    @Test func aRecordOfAKeylessClassDrawsItsId() throws {
        let classSchema = try ClassSchema("Note", properties: [Property("text", .scalar(.string))])
        let record = try Record(classSchema, [:], ids: ObjectIDGenerator(origin: 3, first: 4))
        #expect(record.objectID == ObjectID(high: 3, low: 4))
    }

    @Test(
        arguments: [
            (["seats": .int(1)], .missingPrimaryKey, "Plane needs a value for its primary key 'tail'"),
            (["tail": .null], .missingPrimaryKey, "Plane needs a value for its primary key 'tail'"),
            (["tail": .int(1)], .typeMismatch, "Plane.tail is string, and the given value is int"),
            (
                ["tail": .string("a"), "wings": .int(2)], .unknownProperty,
                "Plane has no property 'wings'; it has tail, seats, maker, owner, notes"
            ),
            (
                ["tail": .string("a"), "seats": .double(2)], .typeMismatch,
                "Plane.seats is int, and the given value is double"
            ),
            (["tail": .string("a"), "seats": .null], .typeMismatch, "Plane.seats is int, and the given value is null"),
            (
                ["tail": .string("a"), "notes": .list([.int(1)])], .typeMismatch,
                "Plane.notes is [string], and the given value is list"
            ),
        ] as [([String: Value], RecordError.Code, String)])
    func valuesThatDoNotFitAreRefusedWithWords(
        values: [String: Value], code: RecordError.Code, message: String
    ) throws {
        let classSchema = try Self.plane()
        let error = #expect(throws: RecordError.self) { try Record(classSchema, values) }
        #expect(error?.code == code)
        #expect(error?.message == message)
    }

    @Test func anExcludedPropertyReadsAsItsStandInOrFailsWhenItHasNone() throws {
        let classSchema = try Self.plane()
        let full = try Record(classSchema, ["tail": .string("N1"), "seats": .int(4)])
        var row = full.row
        row.absent = [1, 2, 3, 4]
        let record = Record(classSchema: classSchema, row: row)
        #expect(classSchema.properties.map { record.isPresent($0.name) } == [true, false, false, false, false])
        #expect(!record.isPresent("wings"))
        #expect(try record.value("maker") == .string("unknown"))
        #expect(try record.value("owner") == .null)
        #expect(try record.value("notes") == .list([]))
        #expect(throws: RecordError.self) { try record.value("wings") }
        let error = #expect(throws: RecordError.self) { try record.value("seats") }
        #expect(error?.code == .excluded)
        #expect(error?.message.hasPrefix("Plane.seats was excluded by the query") == true)
        #expect(try full.value("seats") == .int(4))
    }
}
