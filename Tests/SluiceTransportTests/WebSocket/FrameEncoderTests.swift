import Testing

@testable import SluiceTransport

@Suite struct FrameEncoderTests {
    @Test(
        arguments: [
            (0, [0x82, 0x00]), (125, [0x82, 0x7D]), (126, [0x82, 0x7E, 0x00, 0x7E]),
            (65_535, [0x82, 0x7E, 0xFF, 0xFF]),
            (65_536, [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func sharedBufferHasTheShortestHeaderBeforeItsBytes(count: Int, header: [UInt8]) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let buffer = SharedBuffer(payload)
        #expect(Array(buffer.frame) == header + payload)
        #expect(buffer.withUnsafeBytes { Array($0) } == payload)
        #expect(RawFrame.frame(.binary, payload, maskKey: nil) == header + payload)
    }

    @Test func maskedFrameIsTheOneInTheStandard() {
        let key = UInt32(littleEndian: 0x3D21_FA37)
        #expect(
            RawFrame.frame(.text, Array("Hello".utf8), maskKey: key)
                == [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])
    }

    @Test func maskingEqualsByteByByteForEveryLengthAndPhase() {
        let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        let word = key.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        for count in 0...40 {
            for phase in 0..<4 {
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
                let expected = bytes.enumerated().map { $1 ^ key[($0 + phase) % 4] }
                var masked = bytes
                masked.withUnsafeMutableBytes {
                    Masking.apply(word, phase: phase, from: UnsafeRawBufferPointer($0), to: $0)
                }
                #expect(masked == expected, "\(count) bytes, phase \(phase)")
            }
        }
    }

    @Test func closeReasonIsCutBetweenCharacters() throws {
        let reason = String(repeating: "é", count: 100)
        let bytes = FrameEncoder.close(.normal, reason: reason, maskKey: nil).withUnsafeBytes { Array($0) }
        #expect(try decode([bytes], side: .client) == [.close(.normal, String(repeating: "é", count: 61))])
    }
}
