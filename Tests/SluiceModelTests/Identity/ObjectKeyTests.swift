import FoundationEssentials
import SluiceModel
import Testing

struct ObjectKeyTests {
    static let composed = "\u{E9}"
    static let decomposed = "e\u{301}"

    @Test func keysThatOnlyLookAlikeAreTwoKeys() {
        let keys: [ObjectKey] = [.string(Self.composed), .string(Self.decomposed)]
        #expect(keys[0] != keys[1])
        #expect(Set(keys).count == 2)
        #expect(keys[1] < keys[0], "65 CC 81 is before C3 A9")
        #expect(!(keys[0] < keys[1]))
    }

    @Test func keysOrderByKindAndThenByValue() throws {
        let low = try #require(UUID(uuidString: "00000000-0000-0000-0000-000000000002"))
        let high = try #require(UUID(uuidString: "80000000-0000-0000-0000-000000000001"))
        let keys: [ObjectKey] = [
            .id(ObjectID(high: 0, low: 9)), .id(ObjectID(high: 1, low: 0)), .int(-5), .int(3), .string(""),
            .string("Z"), .string("a"), .string("ab"), .uuid(low), .uuid(high),
        ]
        #expect(keys.reversed().sorted() == keys)
    }

    @Test(arguments: [ObjectKey.int(7), .string("seven"), .uuid(UUID())])
    func aPrimaryKeyAndItsValueConvertBothWays(key: ObjectKey) {
        #expect(ObjectKey(primaryKey: key.value) == key)
    }

    @Test(arguments: [
        Value.null, .bool(true), .double(1), .objectID(ObjectID(high: 0, low: 1)), .link(.int(1)), .list([]),
    ])
    func valuesOfOtherKindsMakeNoPrimaryKey(value: Value) {
        #expect(ObjectKey(primaryKey: value) == nil)
    }

    @Test func aUUIDIsMadeOfExactly16Bytes() throws {
        let bytes = (0..<16).map { UInt8($0) }
        #expect(try #require(UUID(bytes: bytes)).bytes == bytes)
        #expect(UUID(bytes: bytes.dropLast()) == nil)
        #expect(UUID(bytes: bytes + [16]) == nil)
    }

    @Test func refsOrderByClassAndThenByKey() {
        let refs = [ObjectRef(0, .int(9)), ObjectRef(1, .int(1)), ObjectRef(1, .int(2))]
        #expect(refs.reversed().sorted() == refs)
    }
}
