/// Gathers messages into one frame.
package struct FrameBuilder: Sendable {
    /// The first byte is left for the envelope's flags.
    private var writer = ByteWriter()
    /// How much of the content came compressed, or as small as it gets.
    private var incompressibleSize = 0

    package init() { writer.byte(0) }

    /// The size of what was appended, before compression, in bytes.
    package var size: Int { writer.count - 1 }

    package var isEmpty: Bool { size == 0 }

    package mutating func append(_ message: some WireMessage) { message.encode(into: &writer) }

    /// Adds a message of blocks that were encoded before.
    ///
    /// - Parameter encode: writes the message's type, session and fields.
    mutating func append(_ blocks: some Sequence<SharedBlock>, _ encode: (inout ByteWriter) -> Void) {
        writer.lengthPrefixed(encode)
        for block in blocks { incompressibleSize += block.incompressibleSize }
    }

    /// The frame's bytes.
    package consuming func finish() -> [UInt8] { Envelope.seal(writer.bytes, incompressible: incompressibleSize) }
}
