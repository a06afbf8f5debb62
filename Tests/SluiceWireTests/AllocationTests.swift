import CAllocationCounter
import SluiceModel
import Testing

@testable import SluiceWire

/// A count in a message is checked against limits and the bytes that are left before memory is asked for.
@Suite struct MessageAllocationTests {
    /// Far above what the samples need, and far below what the counts claim.
    private static let byteCountMax = 4 << 20
    private static let limits = WireLimits(elementCountMax: 10_000)
    /// 2^24, 2^32 and 2^62 as varints.
    private static let claims: [[UInt8]] = [24, 32, 62].map { exponent in
        var writer = ByteWriter()
        writer.varint(1 << exponent)
        return writer.bytes
    }

    @Test(arguments: Array(1...8) as [UInt64])
    func aHugeCountAnywhereInAClientMessageAsksForLittleMemory(seed: UInt64) {
        var samples = SampleGenerator(seed: seed)
        checkEachType { samples.clientMessage() }
    }

    @Test(arguments: Array(1...8) as [UInt64])
    func aHugeCountAnywhereInAServerMessageAsksForLittleMemory(seed: UInt64) {
        var samples = SampleGenerator(seed: seed)
        checkEachType { samples.serverMessage() }
        for _ in 0..<4 { check(samples.messageOfLists()) }
    }

    /// Checks one message of each type.
    private func checkEachType<Message: WireMessage>(_ next: () -> Message) {
        var left = known(Message.self)
        for _ in 0..<400 where !left.isEmpty {
            let message = next()
            if left.remove(message.type) != nil { check(message) }
        }
        #expect(left.isEmpty, "no sample has the types \(left.sorted())")
    }

    /// Puts a huge count in the place of each byte, and before it.
    private func check<Message: WireMessage>(_ message: Message) {
        var writer = ByteWriter()
        message.encodeFields(into: &writer)
        var head = ByteWriter()
        head.byte(message.type)
        head.varint(message.session)
        for position in 0..<min(writer.bytes.count, 300) {
            for claim in Self.claims {
                for width in 0...1 {
                    var fields = writer.bytes
                    fields.replaceSubrange(position..<(position + width), with: claim)
                    var frame = ByteWriter()
                    frame.byte(0)
                    frame.data(head.bytes + fields)
                    let before = allocated_byte_count()
                    _ = try? Frame.decode(frame.bytes, as: Message.self, limits: Self.limits)
                    let asked = allocated_byte_count() - before
                    guard asked > Self.byteCountMax else { continue }
                    Issue.record("type \(message.type) with \(claim) at \(position) asks for \(asked) bytes")
                    return
                }
            }
        }
    }

    /// The types that are read: an unknown one is an error, or skipped.
    private func known<Message: WireMessage>(_ type: Message.Type) -> Set<UInt8> {
        Set(
            (0...UInt8.max).filter { code in
                do { return try !Frame.decode([0, 2, code, 1], as: type).isEmpty } catch {
                    return (error as? WireError)?.code != .unknownMessage
                }
            })
    }
}
