import SluiceExchange
import SluiceJSON
import SluiceModel
import TestSupport
import Testing

@testable import SluiceCLI

/// Values through the formats that exports write and imports read.
struct ValueRoundTripTests {
    private static let declared: ClassSchema = try! EdgeValues.everything()
    private static let schema = try! Schema([declared])

    @Test(arguments: declared.properties)
    func jsonBringsEveryValueBackBitForBit(property: Property) throws {
        var random = SeededGenerator(seed: 11)
        let codec = PropertyCodec(property.type, schema: Self.schema)
        for value in Self.values(of: property.type, using: &random) {
            var writer = JSONWriter()
            writer.write(value)
            let json = try writer.bytes.withUnsafeBufferPointer { try JSONParser.parse($0) }
            #expect(EdgeValues.bits(try codec.value(json: json)) == EdgeValues.bits(value))
        }
    }

    @Test(arguments: declared.properties)
    func csvBringsEveryValueBackBitForBit(property: Property) throws {
        var random = SeededGenerator(seed: 12)
        let values = Self.values(of: property.type, using: &random)
        let declared = try ClassSchema("One", properties: [Property("other", .scalar(.int)), property])
        var writer = CSVWriter(declared)
        for value in values { writer.write(try Record(declared, ["other": .int(1), property.name: value])) }
        let file = try TemporaryFile(bytes: writer.bytes, suffix: ".csv")
        let reader = try CSVReader(path: file.path)
        let codec = PropertyCodec(property.type, schema: Self.schema)
        for value in values {
            #expect(try reader.next())
            let read = try codec.value(text: reader.bytes(of: 1), isQuoted: reader.isQuoted(1))
            #expect(EdgeValues.bits(read) == EdgeValues.bits(value))
        }
        #expect(try !reader.next())
    }

    @Test(arguments: [
        "340282366920938463463374607431768211456", "0.1000000000000000055511151231257827021181583404541015625", "1e200",
    ])
    func decimalsThatWouldLoseDigitsAreRefused(text: String) throws {
        let codec = PropertyCodec(.scalar(.decimal), schema: Schema())
        let error = #expect(throws: ConversionError.self) {
            try Array(text.utf8).withUnsafeBufferPointer { try codec.value(text: $0) }
        }
        #expect(error?.message.contains("38 digits") == true)
        #expect(throws: ConversionError.self) { try codec.value(json: .number(text)) }
    }

    private static func values(of type: PropertyType, using random: inout SeededGenerator) -> [Value] {
        guard case .scalar(let scalar) = type.element else { return [] }
        let single = type.container == .single ? EdgeValues.edges(of: scalar) + (type.isOptional ? [.null] : []) : []
        return single + (0..<12).map { _ in EdgeValues.value(of: type, using: &random) }
    }
}
