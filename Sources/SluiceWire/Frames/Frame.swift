/// One binary WebSocket message: an envelope of one or more messages, each with its length.
package enum Frame {
    /// The bit of a message's type that lets a receiver skip the message when it does not know the type.
    static let skippableFlag: UInt8 = 0x40

    /// One message as a frame.
    package static func encode(_ message: some WireMessage) -> [UInt8] {
        var builder = FrameBuilder()
        builder.append(message)
        return builder.finish()
    }

    /// Reads a frame.
    ///
    /// - Throws: ``WireError`` when it, or any message in it, is malformed or exceeds the limits.
    package static func decode<Message: WireMessage>(
        _ bytes: [UInt8], as type: Message.Type = Message.self, limits: WireLimits = .standard
    ) throws(WireError) -> [Message] {
        guard bytes.count <= limits.frameLengthMax else {
            throw WireError(
                .limitExceeded, "a frame of \(bytes.count) bytes; at most \(limits.frameLengthMax) are accepted",
                offset: 0)
        }
        return try ByteReader.decode(bytes, limits: limits) { reader throws(WireError) in
            try Envelope.open(&reader) { reader throws(WireError) in
                var messages: [Message] = []
                while !reader.isAtEnd {
                    let length = try reader.length()
                    if let message = try reader.part(ofLength: length, Self.message(Message.self)) {
                        messages.append(message)
                    }
                }
                return messages
            }
        }
    }

    private static func message<Message: WireMessage>(
        _ type: Message.Type
    ) -> (inout ByteReader) throws(WireError) -> Message? {
        { reader throws(WireError) in
            let type = try reader.byte()
            let session = try reader.varint()
            if let message = try Message.decode(type: type, session: session, from: &reader) { return message }
            guard type & skippableFlag != 0 else {
                throw WireError(.unknownMessage, "no message has the type \(type)", offset: reader.offset)
            }
            _ = try reader.slice(reader.remaining)
            return nil
        }
    }
}
