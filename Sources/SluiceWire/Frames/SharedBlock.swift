/// A view's block, encoded and compressed once, to be copied into the frames of everyone who shares the view.
package struct SharedBlock: Hashable, Sendable {
    /// The block's envelope.
    let bytes: [UInt8]

    package init(_ content: ViewBlock) {
        var writer = ByteWriter(reservingCapacity: min(content.estimatedSize, 1 << 20))
        writer.byte(0)
        content.encode(into: &writer)
        bytes = Envelope.seal(writer.bytes)
    }

    /// The size that the block adds to a frame, about, in bytes.
    package var size: Int { bytes.count }

    /// How much of the block compressing it again would not make smaller.
    var incompressibleSize: Int {
        bytes[0] != 0 || bytes.count >= Envelope.compressionThreshold ? bytes.count : 0
    }

    func encode(into writer: inout ByteWriter) { writer.data(bytes) }

    /// The block as it was before it was encoded.
    ///
    /// - Throws: ``WireError``; a block that was made here can be read.
    package func content() throws(WireError) -> ViewBlock {
        try ByteReader.decode(bytes, limits: .standard) { reader throws(WireError) in
            try Envelope.open(&reader) { reader throws(WireError) in try ViewBlock(from: &reader) }
        }
    }

    /// Reads a block that a message carries.
    static func content(from reader: inout ByteReader) throws(WireError) -> ViewBlock {
        try reader.part(ofLength: try reader.length()) { reader throws(WireError) in
            try Envelope.open(&reader) { reader throws(WireError) in try ViewBlock(from: &reader) }
        }
    }
}
