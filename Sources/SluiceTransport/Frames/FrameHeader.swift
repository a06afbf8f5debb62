/// The header of a frame (RFC 6455, section 5.2).
package struct FrameHeader: Hashable, Sendable {
    package var isFinal: Bool
    package var opcode: Opcode
    /// The four bytes of the mask in memory order; nil when the payload is not masked.
    package var maskKey: UInt32?
    package var payloadByteCount: Int

    package init(isFinal: Bool, opcode: Opcode, maskKey: UInt32?, payloadByteCount: Int) {
        self.isFinal = isFinal
        self.opcode = opcode
        self.maskKey = maskKey
        self.payloadByteCount = payloadByteCount
    }
}

extension FrameHeader {
    /// The length of a mask.
    static let maskByteCount = 4

    /// The length of the header that begins with these two bytes.
    static func byteCount(first two: (UInt8, UInt8)) -> Int {
        let length =
            switch two.1 & 0x7F {
            case 126: 4
            case 127: 10
            default: 2
            }
        return length + (two.1 & 0x80 != 0 ? 4 : 0)
    }

    /// Reads a whole header.
    ///
    /// - Parameter bytes: exactly ``byteCount(first:)`` bytes.
    /// - Throws: a violation with code 1002 for what no peer may ever send.
    package init(parsing bytes: UnsafeRawBufferPointer) throws(TransportError) {
        let first = bytes[0]
        let second = bytes[1]
        guard first & 0x70 == 0 else {
            throw .violation(.protocolError, "a frame has a reserved bit set, but no extension was negotiated")
        }
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            throw .violation(.protocolError, "a frame has the unknown opcode \(first & 0x0F)")
        }
        isFinal = first & 0x80 != 0
        self.opcode = opcode

        var position = 2
        switch second & 0x7F {
        case 126:
            let length = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            payloadByteCount = Int(length)
            position = 4
            guard length > 125 else {
                throw .violation(.protocolError, "a frame's length is not in its shortest form")
            }
        case 127:
            let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            position = 10
            guard length > 0xFFFF else {
                throw .violation(.protocolError, "a frame's length is not in its shortest form")
            }
            guard let count = Int(exactly: length) else {
                throw .violation(.protocolError, "a frame's length has its highest bit set")
            }
            payloadByteCount = count
        case let length:
            payloadByteCount = Int(length)
        }
        maskKey =
            second & 0x80 != 0 ? bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self) : nil

        if opcode.isControl {
            guard isFinal else { throw .violation(.protocolError, "a \(opcode) frame is fragmented") }
            guard payloadByteCount <= 125 else {
                throw .violation(.protocolError, "a \(opcode) frame has more than 125 bytes")
            }
        }
    }
}
