import SluiceModel
import Testing

struct ObjectIDTests {
    @Test(arguments: [
        (ObjectID(high: 0, low: 0), "00000000000000000000000000000000"),
        (ObjectID(high: 0, low: 1), "00000000000000000000000000000001"),
        (ObjectID(high: 1, low: 0), "00000000000000010000000000000000"),
        (ObjectID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210), "0123456789abcdeffedcba9876543210"),
        (ObjectID(high: .max, low: .max), "ffffffffffffffffffffffffffffffff"),
    ])
    func anIdPrints32LowerCaseDigitsAndParsesBack(id: ObjectID, text: String) {
        #expect(id.description == text)
        #expect(ObjectID(text) == id)
        #expect(ObjectID(text.uppercased()) == id)
    }

    @Test(arguments: [
        "", "0", "0000000000000000000000000000000", "000000000000000000000000000000000",
        "g0000000000000000000000000000000", "0000000000000000000000000000000 ", "-0000000000000000000000000000001",
        "0123456789abcdef-fedcba987654321",
    ])
    func anythingBut32DigitsIsNoId(text: String) {
        #expect(ObjectID(text) == nil)
    }

    @Test func idsOrderAsUnsignedNumbersWhichIsTheOrderOfTheirText() {
        let words: [UInt64] = [0, 1, 0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, .max]
        let ids = words.flatMap { high in words.map { ObjectID(high: high, low: $0) } }
        #expect(ids.reversed().sorted() == ids)
        #expect(ids.map(\.description).sorted() == ids.map(\.description))
        #expect(!(ids[0] < ids[0]))
    }

    @Test func aGeneratorCountsUpwardsFromItsFirstWithinItsOrigin() {
        let generator = ObjectIDGenerator(origin: 9, first: 5)
        #expect([generator.next(), generator.next()] == [ObjectID(high: 9, low: 5), ObjectID(high: 9, low: 6)])
    }
}
