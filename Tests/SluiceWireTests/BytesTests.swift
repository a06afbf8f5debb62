import SluiceModel
import Testing

@testable import SluiceWire

@Suite struct BytesTests {
    @Test(
        arguments: [
            (0, [0]), (1, [1]), (127, [0x7F]), (128, [0x80, 0x01]), (300, [0xAC, 0x02]),
            (UInt64.max, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
        ] as [(UInt64, [UInt8])])
    func varintHasTheKnownBytesAndComesBack(value: UInt64, bytes: [UInt8]) throws {
        var writer = ByteWriter()
        writer.varint(value)
        #expect(writer.bytes == bytes)
        let decoded = try ByteReader.decode(bytes) { reader throws(WireError) in try reader.varint() }
        #expect(decoded == value)
    }

    @Test(arguments: [(0, 0), (-1, 1), (1, 2), (-2, 3), (.max, .max - 1), (.min, .max)] as [(Int64, UInt64)])
    func zigzagMapsSmallAbsoluteValuesToSmallNumbers(value: Int64, code: UInt64) {
        #expect(ZigZag.encode(value) == code)
        #expect(ZigZag.decode(code) == value)
    }

    @Test(
        arguments: [
            [0x80], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        ] as [[UInt8]])
    func varintThatDoesNotEndOrFitIsAnError(bytes: [UInt8]) {
        #expect(throws: WireError.self) {
            try ByteReader.decode(bytes) { reader throws(WireError) in try reader.varint() }
        }
    }

    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 100_000])
    func lengthPrefixOfAnySizePrecedesTheContent(count: Int) throws {
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var writer = ByteWriter()
        writer.byte(9)
        writer.lengthPrefixed { $0.raw(content) }
        let decoded = try ByteReader.decode(writer.bytes) { reader throws(WireError) in
            #expect(try reader.byte() == 9)
            return try reader.data()
        }
        #expect(decoded == content)
    }

    @Test func textThatIsNotUTF8IsAnError() {
        for bytes: [UInt8] in [[1, 0xFF], [2, 0xC3, 0x28], [3, 0xED, 0xA0, 0x80], [2, 0xC0, 0x80]] {
            let error = #expect(throws: WireError.self) {
                try ByteReader.decode(bytes) { reader throws(WireError) in try reader.string() }
            }
            #expect(error?.code == .malformed)
            #expect(error?.offset == 1)
        }
    }

    @Test func bytesLeftOverAreAnError() {
        #expect(throws: WireError.self) { try Value(wireBytes: [0, 0]) }
    }

    @Test func versionsNegotiateTheHighestCommonOne() {
        #expect(ProtocolVersion.negotiate(minimum: 1, maximum: 9) == 1)
        #expect(ProtocolVersion.negotiate(minimum: 0, maximum: 1) == 1)
        #expect(ProtocolVersion.negotiate(minimum: 2, maximum: 9) == nil)
        #expect(ProtocolVersion.negotiate(minimum: 0, maximum: 0) == nil)
        #expect(ProtocolVersion.negotiate(minimum: 9, maximum: 1) == nil)
    }
}
