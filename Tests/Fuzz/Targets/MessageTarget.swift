import SluiceWire

/// Frames of messages. A message that decodes can be encoded, and decodes to the same message again.
enum MessageTarget {
    /// Small limits, so that an allocation out of proportion shows.
    static let limits = WireLimits(
        frameLengthMax: 1 << 20, expandedLengthMax: 4 << 20, elementCountMax: 1 << 20, nestingDepthMax: 8)

    static func runClient(_ bytes: [UInt8]) { run(bytes, as: ClientMessage.self) }

    static func runServer(_ bytes: [UInt8]) { run(bytes, as: ServerMessage.self) }

    private static func run<Message: WireMessage & Equatable>(_ bytes: [UInt8], as type: Message.Type) {
        guard let messages = try? Frame.decode(bytes, as: type, limits: limits), !messages.isEmpty else { return }
        // What was lost of an upload cannot be encoded again.
        guard messages.allSatisfy({ ($0 as? ClientMessage)?.isWhole ?? true }) else { return }
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        let encoded = frame.finish()
        let again = try? Frame.decode(encoded, as: type)
        precondition(again == messages, "\(messages) became \(String(describing: again))")
    }
}
