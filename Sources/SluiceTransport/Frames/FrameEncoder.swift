/// Writes frames (RFC 6455, section 5.2).
package enum FrameEncoder {
    /// The longest header without a mask.
    static let unmaskedHeaderByteCountMax = 10

    /// The length of the header before a payload.
    static func headerByteCount(payloadByteCount: Int, isMasked: Bool) -> Int {
        let length = payloadByteCount <= 125 ? 2 : payloadByteCount <= 0xFFFF ? 4 : 10
        return length + (isMasked ? 4 : 0)
    }

    /// Writes a header. `target` must have room for ``headerByteCount(payloadByteCount:isMasked:)`` bytes.
    static func writeHeader(_ header: FrameHeader, to target: UnsafeMutableRawPointer) {
        let maskBit: UInt8 = header.maskKey == nil ? 0 : 0x80
        target.storeBytes(of: (header.isFinal ? 0x80 : 0) | header.opcode.rawValue, as: UInt8.self)
        var position = 2
        switch header.payloadByteCount {
        case ...125:
            target.storeBytes(of: maskBit | UInt8(header.payloadByteCount), toByteOffset: 1, as: UInt8.self)
        case ...0xFFFF:
            target.storeBytes(of: maskBit | 126, toByteOffset: 1, as: UInt8.self)
            target.storeBytes(of: UInt16(header.payloadByteCount).bigEndian, toByteOffset: 2, as: UInt16.self)
            position = 4
        default:
            target.storeBytes(of: maskBit | 127, toByteOffset: 1, as: UInt8.self)
            target.storeBytes(of: UInt64(header.payloadByteCount).bigEndian, toByteOffset: 2, as: UInt64.self)
            position = 10
        }
        if let key = header.maskKey {
            target.storeBytes(of: key, toByteOffset: position, as: UInt32.self)
        }
    }

    /// A whole frame, header and payload, masked when there is a key.
    package static func frame(
        _ opcode: Opcode, payload: UnsafeRawBufferPointer, maskKey: UInt32?, isFinal: Bool = true
    ) -> SharedBuffer {
        let header = FrameHeader(
            isFinal: isFinal, opcode: opcode, maskKey: maskKey, payloadByteCount: payload.count)
        let headerCount = headerByteCount(payloadByteCount: payload.count, isMasked: maskKey != nil)
        return SharedBuffer(count: headerCount + payload.count) { target in
            writeHeader(header, to: target.baseAddress!)
            let body = UnsafeMutableRawBufferPointer(rebasing: target[headerCount...])
            if let maskKey {
                Masking.apply(maskKey, phase: 0, from: payload, to: body)
            } else {
                body.copyMemory(from: payload)
            }
        }
    }

    /// A close frame.
    ///
    /// - Parameter reason: cut off, between characters, at 123 bytes.
    package static func close(_ code: CloseCode?, reason: String, maskKey: UInt32?) -> SharedBuffer {
        var payload: [UInt8] = []
        if let code {
            payload = [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)]
            for character in reason {
                guard payload.count + character.utf8.count <= 125 else { break }
                payload.append(contentsOf: character.utf8)
            }
        }
        return payload.withUnsafeBytes { frame(.close, payload: $0, maskKey: maskKey) }
    }
}
