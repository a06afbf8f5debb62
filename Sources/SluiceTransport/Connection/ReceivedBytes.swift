/// The bytes that a connection has received, on their way from where they were read to the messages that they are.
///
/// They reach the decoder in the order in which they were received. Those of a large message are read to where it is
/// assembled.
struct ReceivedBytes: ~Copyable {
    private enum Target {
        /// The loop's memory, which nobody else uses between the room and the bytes read into it.
        case scratch(UnsafeMutableRawBufferPointer)
        case message
    }

    private var buffer = InputBuffer()
    private var decoder: FrameDecoder
    private var target: Target?

    init(side: FrameDecoder.Side, messageByteCountMax: Int) {
        decoder = FrameDecoder(side: side, messageByteCountMax: messageByteCountMax)
    }

    var isEmpty: Bool { buffer.isEmpty }

    /// The bytes that are not decoded yet; valid until the next call.
    var unread: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer.unread) }

    /// Takes text messages in place of binary ones.
    mutating func takeText() { decoder.messageOpcode = .text }

    /// The memory to read the next bytes into. No byte may be left to decode.
    ///
    /// - Parameters:
    ///   - scratch: used unless the bytes can go directly to where a large message is assembled.
    ///   - areMessages: whether the next bytes are of messages.
    mutating func room(
        _ scratch: UnsafeMutableRawBufferPointer, areMessages: Bool
    ) -> UnsafeMutableRawBufferPointer {
        if areMessages, decoder.wantsDirectRead {
            target = .message
            return decoder.directRoom()
        }
        target = .scratch(scratch)
        return scratch
    }

    /// Accepts bytes that were read into the room. They are lent until ``endLoan()``.
    mutating func didRead(_ count: Int) {
        switch target {
        case .scratch(let scratch): buffer.lend(UnsafeMutableRawBufferPointer(rebasing: scratch[..<count]))
        case .message: decoder.didReadDirectly(count)
        case nil: preconditionFailure("bytes were read without room for them")
        }
        target = nil
    }

    /// Copies what is left of the bytes lent by ``didRead(_:)``.
    mutating func endLoan() { buffer.endLoan() }

    /// The next message or control frame, or how the peer breaks a rule; nil when the bytes are used up.
    mutating func decode() -> Result<FrameDecoder.Event, TransportError>? {
        do throws(TransportError) {
            return try decoder.next(&buffer.unread).map { .success($0) }
        } catch {
            return .failure(error)
        }
    }

    /// Drops bytes from the front, which somebody else has decoded.
    mutating func consume(_ count: Int) {
        buffer.unread = UnsafeMutableRawBufferPointer(rebasing: buffer.unread[count...])
    }

    mutating func removeAll() { buffer.removeAll() }
}
