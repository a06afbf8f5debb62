/// Decodes the bytes of one direction of a WebSocket connection into messages and control frames. It refuses every
/// violation of RFC 6455.
///
/// It makes no system calls and holds no memory between messages. A payload that is whole in the input is unmasked in
/// place and returned without a copy.
package struct FrameDecoder: ~Copyable {
    /// Which side decodes.
    package enum Side: Sendable {
        /// Frames must be masked.
        case server
        /// Frames must not be masked.
        case client
    }

    /// A decoded message or control frame. Its memory is valid until the next call.
    package enum Event {
        case message(UnsafeRawBufferPointer)
        case ping(UnsafeRawBufferPointer)
        case pong(UnsafeRawBufferPointer)
        case close(CloseCode?, reason: String)
    }

    private let side: Side
    private let messageByteCountMax: Int

    /// What the messages are: binary, or text. Those of the other kind are refused.
    package var messageOpcode = Opcode.binary

    private var headerBytes: (UInt64, UInt64) = (0, 0)
    private var headerCount = 0
    private var frame: FrameHeader?
    private var remaining = 0
    private var isFragmented = false
    private var isMessageDelivered = false
    private var isControlDelivered = false
    private var message = GrowingBuffer()
    private var control = GrowingBuffer()

    /// - Parameter messageByteCountMax: longer messages are refused as soon as a header announces them.
    package init(side: Side, messageByteCountMax: Int) {
        self.side = side
        self.messageByteCountMax = messageByteCountMax
    }

    /// Decodes from the front of the input until an event is complete; nil when the input is used up.
    ///
    /// - Parameter input: unmasked in place. What is left when the call returns is the input of the next call.
    /// - Throws: the violation, with the code to close with. The decoder cannot be used afterwards.
    package mutating func next(_ input: inout UnsafeMutableRawBufferPointer) throws(TransportError) -> Event? {
        if isMessageDelivered {
            message.release()
            isMessageDelivered = false
        }
        if isControlDelivered {
            control.release()
            isControlDelivered = false
        }
        while true {
            if frame == nil {
                guard let header = try readHeader(&input) else { return nil }
                try check(header)
                frame = header
                remaining = header.payloadByteCount
            }
            guard let header = frame else { return nil }
            if header.opcode.isControl {
                guard let payload = takeControl(header, &input) else { return nil }
                return try event(header.opcode, payload)
            }
            if let whole = takeWhole(header, &input) { return .message(whole) }
            takePart(header, &input)
            guard remaining == 0 else { return nil }
            frame = nil
            isFragmented = !header.isFinal
            if header.isFinal {
                isMessageDelivered = true
                return .message(UnsafeRawBufferPointer(message.bytes))
            }
        }
    }

    /// Whether the decoder is inside a large payload, so that the next bytes can be read directly into the message.
    package var wantsDirectRead: Bool {
        guard let frame else { return false }
        return !frame.opcode.isControl && remaining >= 16_384 && !isMessageDelivered
    }

    /// Memory for the next bytes of the payload, never for more than are missing.
    mutating func directRoom() -> UnsafeMutableRawBufferPointer {
        let room = message.room(for: min(remaining, 65_536), limit: message.count + remaining)
        return UnsafeMutableRawBufferPointer(rebasing: room.prefix(remaining))
    }

    /// Accepts what was read into ``directRoom()``. If the message is then complete, ``next(_:)`` returns it without
    /// more input.
    mutating func didReadDirectly(_ count: Int) {
        guard let frame else { return }
        let start = message.count
        message.didWrite(count)
        unmask(frame, UnsafeMutableRawBufferPointer(rebasing: message.bytes[start...]))
        remaining -= count
    }
}

extension FrameDecoder {
    private mutating func readHeader(
        _ input: inout UnsafeMutableRawBufferPointer
    ) throws(TransportError) -> FrameHeader? {
        if headerCount == 0, input.count >= 2 {
            let count = FrameHeader.byteCount(first: (input[0], input[1]))
            if input.count >= count {
                let header = try FrameHeader(parsing: UnsafeRawBufferPointer(rebasing: input[..<count]))
                input = UnsafeMutableRawBufferPointer(rebasing: input[count...])
                return header
            }
        }
        var header: Result<FrameHeader, TransportError>?
        withUnsafeMutableBytes(of: &headerBytes) { bytes in
            while let byte = input.first {
                bytes[headerCount] = byte
                headerCount += 1
                input = UnsafeMutableRawBufferPointer(rebasing: input.dropFirst())
                guard headerCount >= 2, headerCount == FrameHeader.byteCount(first: (bytes[0], bytes[1])) else {
                    continue
                }
                let whole = UnsafeRawBufferPointer(rebasing: bytes[..<headerCount])
                header = Result { () throws(TransportError) in try FrameHeader(parsing: whole) }
                headerCount = 0
                return
            }
        }
        return try header?.get()
    }

    /// Checks the rules that depend on the side and on earlier frames.
    private func check(_ header: FrameHeader) throws(TransportError) {
        switch side {
        case .server where header.maskKey == nil:
            throw .violation(.protocolError, "a client must mask its frames")
        case .client where header.maskKey != nil:
            throw .violation(.protocolError, "a server must not mask its frames")
        default:
            break
        }
        switch header.opcode {
        case .continuation where !isFragmented:
            throw .violation(.protocolError, "a continuation frame without a message to continue")
        case .text where isFragmented, .binary where isFragmented:
            throw .violation(.protocolError, "a new message inside a fragmented one")
        case .text where messageOpcode != .text:
            throw .violation(.unsupportedData, "text messages are not understood: this protocol is binary")
        case .binary where messageOpcode != .binary:
            throw .violation(.unsupportedData, "binary messages are not understood: this protocol is text")
        case .text, .binary, .continuation:
            guard header.payloadByteCount <= messageByteCountMax - message.count else {
                throw .violation(
                    .messageTooBig, "a message of more than \(messageByteCountMax) bytes, the limit here")
            }
        case .close, .ping, .pong:
            break
        }
    }

    private func unmask(_ header: FrameHeader, _ part: UnsafeMutableRawBufferPointer) {
        guard let key = header.maskKey else { return }
        Masking.apply(
            key, phase: (header.payloadByteCount - remaining) & 3, from: UnsafeRawBufferPointer(part), to: part)
    }

    /// Returns an unfragmented message that is whole in the input, without a copy; nil for any other.
    private mutating func takeWhole(
        _ header: FrameHeader, _ input: inout UnsafeMutableRawBufferPointer
    ) -> UnsafeRawBufferPointer? {
        guard header.isFinal, header.opcode == messageOpcode, remaining == header.payloadByteCount,
            input.count >= remaining
        else { return nil }
        let payload = UnsafeMutableRawBufferPointer(rebasing: input[..<remaining])
        unmask(header, payload)
        input = UnsafeMutableRawBufferPointer(rebasing: input[remaining...])
        remaining = 0
        frame = nil
        return UnsafeRawBufferPointer(payload)
    }

    private mutating func takePart(_ header: FrameHeader, _ input: inout UnsafeMutableRawBufferPointer) {
        let part = UnsafeMutableRawBufferPointer(rebasing: input.prefix(remaining))
        unmask(header, part)
        message.append(UnsafeRawBufferPointer(part), limit: message.count + remaining)
        input = UnsafeMutableRawBufferPointer(rebasing: input[part.count...])
        remaining -= part.count
    }

    private mutating func takeControl(
        _ header: FrameHeader, _ input: inout UnsafeMutableRawBufferPointer
    ) -> UnsafeRawBufferPointer? {
        let part = UnsafeMutableRawBufferPointer(rebasing: input.prefix(remaining))
        unmask(header, part)
        input = UnsafeMutableRawBufferPointer(rebasing: input[part.count...])
        remaining -= part.count
        if remaining == 0, control.isEmpty {
            frame = nil
            return UnsafeRawBufferPointer(part)
        }
        control.append(UnsafeRawBufferPointer(part), limit: 125)
        guard remaining == 0 else { return nil }
        frame = nil
        isControlDelivered = true
        return UnsafeRawBufferPointer(control.bytes)
    }

    private func event(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) throws(TransportError) -> Event {
        switch opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        case .close, .text, .binary, .continuation: break
        }
        guard !payload.isEmpty else { return .close(nil, reason: "") }
        guard payload.count >= 2 else {
            throw .violation(.protocolError, "a close frame of one byte has no room for its code")
        }
        let code = CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.isAllowedOnWire else {
            throw .violation(.protocolError, "a close frame has the code \(code), which must not be sent")
        }
        guard let reason = String(validating: payload[2...], as: UTF8.self) else {
            throw .violation(.invalidPayload, "the reason in a close frame is not UTF-8")
        }
        return .close(code, reason: reason)
    }
}
