import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

/// A copy of an event of the decoder.
enum Decoded: Equatable {
    case message([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(CloseCode?, String)

    init(_ event: FrameDecoder.Event) {
        self =
            switch event {
            case .message(let bytes): .message(Array(bytes))
            case .ping(let bytes): .ping(Array(bytes))
            case .pong(let bytes): .pong(Array(bytes))
            case .close(let code, let reason): .close(code, reason)
            }
    }
}

/// Decodes pieces one after another.
func decode(
    _ pieces: [[UInt8]], side: FrameDecoder.Side, limit: Int = 1 << 20
) throws(TransportError) -> [Decoded] {
    var decoder = FrameDecoder(side: side, messageByteCountMax: limit)
    var events: [Decoded] = []
    for piece in pieces {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: piece)
        var input = memory
        while let event = try decoder.next(&input) { events.append(Decoded(event)) }
    }
    return events
}

@Suite struct FrameDecoderTests {
    /// RFC 6455, section 5.7, with binary in place of text.
    @Test(
        arguments: [
            ([0x82, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f], FrameDecoder.Side.client, [.message(Array("Hello".utf8))]),
            (
                [0x82, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58], .server,
                [.message(Array("Hello".utf8))]
            ),
            (
                [0x02, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f], .client, [.message(Array("Hello".utf8))]
            ),
            ([0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f], .client, [.ping(Array("Hello".utf8))]),
            (
                [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58], .server,
                [.pong(Array("Hello".utf8))]
            ),
            (
                [0x82, 0x7E, 0x01, 0x00] + [UInt8](repeating: 7, count: 256), .client,
                [.message(.init(repeating: 7, count: 256))]
            ),
            (
                [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + [UInt8](repeating: 7, count: 65_536), .client,
                [.message(.init(repeating: 7, count: 65_536))]
            ),
            ([0x82, 0x00], .client, [.message([])]),
            ([0x88, 0x00], .client, [.close(nil, "")]),
            ([0x88, 0x02, 0x03, 0xE8], .client, [.close(.normal, "")]),
            ([0x88, 0x05, 0x0F, 0xA1, 0xE2, 0x82, 0xAC], .client, [.close(CloseCode(rawValue: 4001), "€")]),
        ] as [([UInt8], FrameDecoder.Side, [Decoded])])
    func validFramesAreDecodedInAnyPieces(bytes: [UInt8], side: FrameDecoder.Side, expected: [Decoded]) throws {
        #expect(try decode([bytes], side: side) == expected)
        #expect(try decode(bytes.map { [$0] }, side: side) == expected)
        for boundary in 0...min(bytes.count, 300) {
            #expect(try decode([Array(bytes[..<boundary]), Array(bytes[boundary...])], side: side) == expected)
        }
    }

    @Test(
        arguments: [
            ("a mask from a server", [0x82, 0x81, 1, 2, 3, 4, 5], .client, 1002),
            ("no mask from a client", [0x82, 0x01, 5], .server, 1002),
            ("reserved bit 1", [0xC2, 0x00], .client, 1002),
            ("reserved bit 2", [0xA2, 0x00], .client, 1002),
            ("reserved bit 3", [0x92, 0x00], .client, 1002),
            ("unknown data opcode", [0x83, 0x00], .client, 1002),
            ("unknown control opcode", [0x8B, 0x00], .client, 1002),
            ("fragmented ping", [0x09, 0x00], .client, 1002),
            ("long ping", [0x89, 0x7E, 0x00, 0x7E], .client, 1002),
            ("continuation of nothing", [0x80, 0x00], .client, 1002),
            ("message in a message", [0x02, 0x01, 1, 0x82, 0x01, 1], .client, 1002),
            ("text in a message", [0x02, 0x01, 1, 0x81, 0x01, 1], .client, 1002),
            ("continuation after the last fragment", [0x02, 0x00, 0x80, 0x00, 0x80, 0x00], .client, 1002),
            ("16-bit length too small", [0x82, 0x7E, 0x00, 0x7D], .client, 1002),
            ("64-bit length too small", [0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .client, 1002),
            ("highest bit of the length", [0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], .client, 1002),
            ("text", [0x81, 0x01, 0x41], .client, 1003),
            ("over the limit", [0x82, 0x7E, 0x03, 0xE9], .client, 1009),
            ("far over the limit", [0x82, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .client, 1009),
            (
                "over the limit in two fragments",
                [0x02, 0x7E, 0x03, 0xE8] + [UInt8](repeating: 0, count: 1000) + [0x80, 0x01], .client, 1009
            ),
            ("close of one byte", [0x88, 0x01, 0x03], .client, 1002),
            ("close code 999", [0x88, 0x02, 0x03, 0xE7], .client, 1002),
            ("close code 1005", [0x88, 0x02, 0x03, 0xED], .client, 1002),
            ("close code 1006", [0x88, 0x02, 0x03, 0xEE], .client, 1002),
            ("close code 1015", [0x88, 0x02, 0x03, 0xF7], .client, 1002),
            ("close code 5000", [0x88, 0x02, 0x13, 0x88], .client, 1002),
            ("close reason not UTF-8", [0x88, 0x04, 0x03, 0xE8, 0xC3, 0x28], .client, 1007),
        ] as [(String, [UInt8], FrameDecoder.Side, UInt16)])
    func violationIsRefusedWithItsCode(name: String, bytes: [UInt8], side: FrameDecoder.Side, code: UInt16) throws {
        for pieces in [[bytes], bytes.map { [$0] }] {
            let error = #expect(throws: TransportError.self, "\(name)") {
                _ = try decode(pieces, side: side, limit: 1000)
            }
            #expect(error?.closeCode?.rawValue == code, "\(name)")
        }
    }

    @Test func messageOfExactlyTheLimitIsTaken() throws {
        let payload = [UInt8](repeating: 9, count: 1000)
        let bytes = RawFrame.frame(.binary, payload, maskKey: nil)
        #expect(try decode([bytes], side: .client, limit: 1000) == [.message(payload)])
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func randomFramesInRandomPiecesComeBackWhole(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let side: FrameDecoder.Side = Bool.random(using: &generator) ? .server : .client
        var expected: [Decoded] = []
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...12, using: &generator) {
            let size = [0, 1, 7, 125, 126, 3_000, 65_535, 65_536, 100_000].randomElement(using: &generator) ?? 0
            let message = generator.bytes(size)
            var cuts = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                Int.random(in: 0...size, using: &generator)
            }
            cuts = [0] + cuts.sorted() + [size]
            for index in 1..<cuts.count {
                let key = side == .server ? UInt32.random(in: .min ... .max, using: &generator) : nil
                bytes += RawFrame.frame(
                    index == 1 ? .binary : .continuation, Array(message[cuts[index - 1]..<cuts[index]]), maskKey: key,
                    isFinal: index == cuts.count - 1)
                if index < cuts.count - 1, Bool.random(using: &generator) {
                    let payload = generator.bytes(Int.random(in: 0...125, using: &generator))
                    bytes += RawFrame.frame(.ping, payload, maskKey: key)
                    expected.append(.ping(payload))
                }
            }
            expected.append(.message(message))
        }
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...20_000, using: &generator)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        #expect(try decode(pieces, side: side) == expected, "seed \(seed)")
    }

    @Test func largePayloadReadDirectlyEqualsTheSameThroughInput() throws {
        var generator = SeededGenerator(seed: 7)
        let message = generator.bytes(300_001)
        let bytes = RawFrame.masked(.binary, message)
        var decoder = FrameDecoder(side: .server, messageByteCountMax: 1 << 20)
        var position = 0
        var result: Decoded?
        while result == nil, position < bytes.count {
            if decoder.wantsDirectRead {
                let room = decoder.directRoom()
                let count = min(room.count, Int.random(in: 1...50_000, using: &generator))
                room.copyBytes(from: bytes[position..<(position + count)])
                decoder.didReadDirectly(count)
                position += count
                var empty = UnsafeMutableRawBufferPointer(start: nil, count: 0)
                result = try decoder.next(&empty).map(Decoded.init)
            } else {
                var piece = Array(bytes[position..<min(position + 1_000, bytes.count)])
                position += piece.count
                try piece.withUnsafeMutableBytes { memory in
                    var input = memory
                    result = try decoder.next(&input).map(Decoded.init)
                }
            }
        }
        #expect(result == .message(message))
        #expect(position == bytes.count)
    }

    /// For any bytes, the decoder neither traps nor delivers more than the limit.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func mutatedFramesNeverTrap(seed: UInt64) {
        var generator = SeededGenerator(seed: seed &+ 1_000)
        var bytes: [UInt8] = []
        for _ in 0..<4 {
            let opcode = Opcode.allCases.randomElement(using: &generator) ?? .binary
            let count =
                opcode.isControl
                ? Int.random(in: 0...125, using: &generator) : Int.random(in: 0...400, using: &generator)
            bytes += RawFrame.masked(
                opcode, generator.bytes(count), isFinal: Int.random(in: 0...3, using: &generator) > 0)
        }
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            let position = Int.random(in: 0..<bytes.count, using: &generator)
            bytes[position] = UInt8.random(in: 0...255, using: &generator)
        }
        let middle = Int.random(in: 0...bytes.count, using: &generator)
        do throws(TransportError) {
            for case .message(let message) in try decode(
                [Array(bytes[..<middle]), Array(bytes[middle...])], side: .server, limit: 500)
            {
                #expect(message.count <= 500, "seed \(seed)")
            }
        } catch {
            #expect(error.closeCode != nil, "seed \(seed)")
        }
    }
}
