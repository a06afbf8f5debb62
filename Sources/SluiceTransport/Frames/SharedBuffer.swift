import Glibc

/// An immutable message that any number of connections can send without copying it.
///
/// A server's WebSocket header is the same on every connection, so it is written once, before the bytes.
package final class SharedBuffer: @unchecked Sendable {  // Nothing changes after `init`.
    /// Written once in `init`, and freed with the last who has the message.
    private let storage: UnsafeMutableRawPointer
    private let frameOffset: Int
    /// The length of the message in bytes.
    package let count: Int
    /// What kind of message it is: binary, or text in UTF-8.
    let opcode: Opcode

    /// Makes a message in place.
    ///
    /// - Parameters:
    ///   - count: the length in bytes.
    ///   - opcode: binary or text.
    ///   - body: fills all of the memory given to it, which is not zeroed.
    package init<Failure: Error>(
        count: Int, opcode: Opcode = .binary,
        initializingWith body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let headroom = FrameEncoder.unmaskedHeaderByteCountMax
        storage = .allocate(byteCount: headroom + count, alignment: 16)
        self.count = count
        self.opcode = opcode
        frameOffset = headroom - FrameEncoder.headerByteCount(payloadByteCount: count, isMasked: false)
        FrameEncoder.writeHeader(
            FrameHeader(isFinal: true, opcode: opcode, maskKey: nil, payloadByteCount: count),
            to: storage + frameOffset)
        try body(UnsafeMutableRawBufferPointer(start: storage + headroom, count: count))
    }

    /// Copies the bytes.
    package convenience init(_ bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Copies the bytes.
    package convenience init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { target in bytes.withUnsafeBytes { target.copyMemory(from: $0) } }
    }

    /// Copies a text message.
    ///
    /// - Parameter text: UTF-8.
    package convenience init(text: [UInt8]) {
        self.init(count: text.count, opcode: .text) { target in text.withUnsafeBytes { target.copyMemory(from: $0) } }
    }

    deinit { storage.deallocate() }

    /// The bytes, valid as long as this object lives.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: storage + FrameEncoder.unmaskedHeaderByteCountMax, count: count)
    }

    /// The length of the message on the wire, with the header that a server puts before it.
    package var frameByteCount: Int { frame.count }

    /// The bytes with the header of one unmasked frame before them.
    var frame: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: storage + frameOffset, count: FrameEncoder.unmaskedHeaderByteCountMax - frameOffset + count)
    }

    /// Calls `body` with the bytes.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(bytes)
    }
}
