import SluiceModel
import TestSupport
import Testing

struct DataLimitsTests {
    @Test func theLimitsAgreeWithEachOther() {
        #expect(DataLimits.standard.contradictions == [])
    }

    @Test func aLimitThatBreaksARelationIsNamed() {
        let broken: [(WritableKeyPath<DataLimits, Int>, Int)] = [
            (\.objectByteCount, 14 << 20), (\.objectElementCount, 6 << 20), (\.transactionByteCount, 16 << 20),
            (\.transactionElementCount, 2 << 20), (\.uploadElementCount, 9 << 20), (\.expandedByteCount, 15 << 20),
            (\.schemaByteCount, 16 << 20), (\.schemaPropertyCount, 1 << 20), (\.keyByteCount, 2_000),
            (\.propertyCount, 1_999), (\.propertyCount, 513), (\.frameByteCount, 12 << 20),
        ]
        for (limit, value) in broken {
            var limits = DataLimits.standard
            limits[keyPath: limit] = value
            #expect(!limits.contradictions.isEmpty, "\(limit)")
        }
    }

    @Test func aSchemaBeyondALimitIsRefusedWithTheNumbers() throws {
        func properties(_ count: Int, prefix: String = "p") -> [Property] {
            (0..<count).map { Property("\(prefix)\($0)", .scalar(.int)) }
        }
        let wide = #expect(throws: SchemaError.self) { try ClassSchema("Wide", properties: properties(100_000)) }
        #expect(wide?.message == "the class Wide has 100000 properties; at most 500 are allowed")
        let classes = try (0..<1_001).map { try ClassSchema("C\($0)", properties: []) }
        let many = #expect(throws: SchemaError.self) { try Schema(classes) }
        #expect(many?.message == "the schema has 1001 classes; at most 1000 are allowed")
        let full = try (0..<41).map { try ClassSchema("C\($0)", properties: properties(500)) }
        let total = #expect(throws: SchemaError.self) { try Schema(full) }
        #expect(total?.message.contains("20500 properties in all classes; at most 20000") == true)
        let text = Property("text", .scalar(.string), default: .string(String(repeating: "x", count: 1 << 20)))
        let large = #expect(throws: SchemaError.self) { try Schema([ClassSchema("Large", properties: [text])]) }
        #expect(large?.message.contains("bytes of names and defaults; at most 1048576") == true)
        // A class that grew by merging is checked too.
        var schema = try Schema([ClassSchema("Wide", properties: properties(300))])
        let more = try Schema([ClassSchema("Wide", properties: properties(300, prefix: "q"))])
        #expect(throws: SchemaError.self) { try schema.merge(more) }
        #expect(schema[0].properties.count == 300)
    }
}
