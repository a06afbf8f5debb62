import Foundation
import Sluice
import SluiceModel
import Testing

/// Runs the same tests on a model made by the macro and on one made with key paths.
@Suite struct EverythingModelTests {
    private static func schema(_ type: any Everything.Type) throws -> Schema {
        try Schema([type.declaredClass!.schema.get(), ClassSchema("User", properties: [])])
    }

    @Test func macroAndTableDeclareTheSameSchema() throws {
        let schemas = try everythingTypes.map { try $0.declaredClass!.schema.get() }
        for schema in schemas { #expect(schema == schemas[0]) }
        let schema = schemas[0]
        #expect(schema.name == "Everything")
        #expect(schema.properties.count == 33)
        #expect(schema.property(named: "uint32")?.type == .scalar(.int))
        #expect(schema.property(named: "data")?.defaultValue == .data([1]))
        #expect(schema.property(named: "level")?.type == .scalar(.int, isOptional: true))
        #expect(schema.property(named: "level")?.defaultValue == .int(1))
        #expect(schema.property(named: "colour")?.defaultValue == .string("red"))
        #expect(
            schema.property(named: "optionalStrings")?.type
                == PropertyType(.scalar(.string), container: .list, isOptional: true))
        #expect(schema.property(named: "scores")?.type == PropertyType(.scalar(.double), container: .map))
        #expect(schema.property(named: "user")?.type == .link("User"))
        #expect(schema.property(named: "users")?.type == .links("User"))
        #expect(schema.property(named: "userSet")?.type == PropertyType(.link("User"), container: .set))
        #expect(schema.property(named: "class")?.defaultValue == .string("c"))
        #expect(schema.property(named: "plain_name")?.isIndexed == true)
        #expect(schema.index(of: "renamed") == nil)
    }

    @Test(arguments: everythingTypes.indices) func valuesSurviveEncodingAndDecoding(index: Int) throws {
        func check<Value: Everything>(_: Value.Type) throws {
            let binding = try ElementBinding(Value.self, className: "Everything", schema: Self.schema(Value.self))
            var value = Value()
            #expect(try Value.decode(value.encoded(for: binding), binding) == value)
            value.bool = false
            value.int = .min
            value.int8 = -128
            value.int16 = 300
            value.int32 = .max
            value.int64 = .max
            value.uint8 = 255
            value.uint16 = .max
            value.uint32 = .max
            value.float = .infinity
            value.double = -0.1
            value.string = "e\u{301}"
            value.data = Data([0, 255])
            value.date = Date(timeIntervalSince1970: -1.5)
            value.timestamp = Timestamp(microseconds: -1)
            value.uuid = UUID()
            value.id = ObjectID(high: .max, low: 0)
            value.decimal = Decimal(string: "-12345678901234567890.5")!
            value.colour = .green
            value.level = nil
            value.optionalInt = -1
            value.optionalString = nil
            value.optionalDate = Date(timeIntervalSince1970: 0)
            value.ints = [3, 3, -3]
            value.optionalStrings = ["a", nil]
            value.uuids = [UUID(), UUID()]
            value.scores = ["b": 1, "a": -1]
            value.user = Link(id: ObjectID(high: 1, low: 1))
            value.users = [Link(id: ObjectID(high: 2, low: 1)), Link(id: ObjectID(high: 1, low: 1))]
            value.userSet = [Link(id: ObjectID(high: 3, low: 1))]
            value.usersByName = ["u": Link(id: ObjectID(high: 4, low: 1))]
            value.renamed = 9
            value.class = "d"
            let row = try value.encoded(for: binding)
            #expect(row.absent.isEmpty)
            #expect(row.key == .id(value.objectMetadata.id))
            #expect(zip(binding.classSchema.properties, row.values).allSatisfy { $0.type.accepts($1) })
            #expect(row.values[3] == .int(300))
            let decoded = try Value.decode(row, binding)
            #expect(decoded == value)
            #expect(decoded.objectID == value.objectID)
            #expect(decoded.users == value.users && decoded.scores == value.scores)
        }
        try check(everythingTypes[index])
    }

    @Test(arguments: everythingTypes.indices) func aNumberThatDoesNotFitIsNamed(index: Int) throws {
        func check<Value: Everything>(_: Value.Type) throws {
            let binding = try ElementBinding(Value.self, className: "Everything", schema: Self.schema(Value.self))
            var row = try Value().encoded(for: binding)
            row.values[2] = .int(128)
            let error = #expect(throws: ModelError.self) { try Value.decode(row, binding) }
            #expect(error?.code == .typeMismatch)
            #expect(error?.message.contains("Everything.int8 is int in the store") == true)
            row.values[2] = .int(127)
            row.values[18] = .string("blue")
            let colour = #expect(throws: ModelError.self) { try Value.decode(row, binding) }
            #expect(colour?.message.contains("Everything.colour") == true)
            #expect(colour?.message.contains("blue") == false)
        }
        try check(everythingTypes[index])
    }

    @Test(arguments: everythingTypes.indices) func aStoreWithMorePropertiesInAnotherOrderIsReadByName(index: Int) throws
    {
        func check<Value: Everything>(_: Value.Type) throws {
            let declared = try Value.declaredClass!.schema.get()
            let properties =
                [Property("extra", .scalar(.string), default: .string("e"))] + declared.properties.reversed()
            let schema = try Schema([
                ClassSchema("User", properties: []), ClassSchema("Everything", properties: properties),
            ])
            let binding = try ElementBinding(Value.self, className: "Everything", schema: schema)
            #expect(binding.classIndex == 1)
            var value = Value()
            value.int = 77
            let row = try value.encoded(for: binding)
            #expect(row.absent == [0])
            #expect(try Value.decode(row, binding) == value)
        }
        try check(everythingTypes[index])
    }
}
