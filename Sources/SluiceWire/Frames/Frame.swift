internal import SluiceModel

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
        try decodeMeasured(bytes, limits: limits).messages
    }

    /// Reads a frame, and tells how much memory its messages take.
    ///
    /// - Returns: the messages in order, and their size in bytes, about, never less than the frame's.
    /// - Throws: ``WireError`` when the frame, or any message in it, is malformed or exceeds the limits.
    package static func decodeMeasured<Message: WireMessage>(
        _ bytes: [UInt8], as type: Message.Type = Message.self, limits: WireLimits = .standard
    ) throws(WireError) -> (messages: [Message], byteCount: Int) {
        guard bytes.count <= limits.frameLengthMax else {
            throw WireError(
                .limitExceeded, "a frame of \(bytes.count) bytes; at most \(limits.frameLengthMax) are accepted",
                offset: 0)
        }
        return try ByteReader.decode(bytes, limits: limits) { reader throws(WireError) in
            let whole = reader.budget
            let messages = try Envelope.open(&reader) { reader throws(WireError) in
                try self.messages(Message.self, from: &reader)
            }
            let elementCount = whole.elements - reader.budget.elements
            let expandedCount = whole.expansion - reader.budget.expansion
            return (messages, bytes.count + expandedCount + elementCount * MemoryLayout<Value>.stride)
        }
    }

    /// Reads of a frame no more than which message comes first, and of which session it is.
    ///
    /// - Returns: nil if the frame is malformed.
    package static func first(of bytes: [UInt8]) -> (type: UInt8, session: UInt64)? {
        // A length, a type and a number take no more.
        guard let content = Envelope.beginning(of: bytes, byteCount: 24) else { return nil }
        return try? ByteReader.decode(content, limits: .standard) { reader throws(WireError) in
            _ = try reader.varint()
            let type = try reader.byte()
            let session = try reader.varint()
            _ = try reader.slice(reader.remaining)
            return (type, session)
        }
    }

    /// Reads of a frame no more than which messages it has, and how long each is before compression.
    ///
    /// - Returns: nil if the frame is malformed.
    package static func outline(of bytes: [UInt8]) -> [(type: UInt8, byteCount: Int)]? {
        try? ByteReader.decode(bytes, limits: .standard) { reader throws(WireError) in
            try Envelope.open(&reader) { reader throws(WireError) in
                var messages: [(type: UInt8, byteCount: Int)] = []
                while !reader.isAtEnd {
                    let length = try reader.length()
                    let type = try reader.part(ofLength: length) { reader throws(WireError) in
                        let type = try reader.byte()
                        _ = try reader.slice(reader.remaining)
                        return type
                    }
                    messages.append((type, length))
                }
                return messages
            }
        }
    }

    /// Reads messages to the end of a frame's content.
    private static func messages<Message: WireMessage>(
        _ type: Message.Type, from reader: inout ByteReader
    ) throws(WireError) -> [Message] {
        let weight = max(1, MemoryLayout<Message>.stride / MemoryLayout<Value>.stride)
        var messages: [Message] = []
        var count = 0
        while !reader.isAtEnd {
            count += 1
            guard count <= reader.limits.messageCountMax else {
                throw WireError(
                    .limitExceeded, "more than \(reader.limits.messageCountMax) messages in one frame",
                    offset: reader.offset)
            }
            let length = try reader.length()
            guard let message = try reader.part(ofLength: length, Self.message(Message.self)) else { continue }
            try reader.spend(elements: weight)
            messages.append(message)
        }
        return messages
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
