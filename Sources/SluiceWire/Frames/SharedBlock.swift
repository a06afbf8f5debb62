/// A view's block, encoded and compressed once, to be copied into the frames of everyone who shares the view.
package struct SharedBlock: Hashable, Sendable {
    /// The block's envelope.
    let bytes: [UInt8]
    /// For receivers that read nothing of lists but their values, where it differs: the envelope, or what has to be
    /// encoded where few will ask.
    private var plainBytes: [UInt8]?
    private var plainContent: ViewBlock?

    package init(_ content: ViewBlock) {
        bytes = Self.sealed(content)
        guard content.objects.hasNotes else { return }
        let plain = content.readable(withNotes: false)
        if content.objects.hasEdits { plainContent = plain } else { plainBytes = Self.sealed(plain) }
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private static func sealed(_ content: ViewBlock) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: min(content.estimatedSize, 1 << 20))
        writer.byte(0)
        content.encode(into: &writer)
        return Envelope.seal(writer.bytes)
    }

    /// Whether the block has the same bytes for all receivers.
    package var isSameForAll: Bool { plainBytes == nil && plainContent == nil }

    /// The block as a receiver reads it.
    ///
    /// - Parameter withNotes: whether the receiver reads what is said of lists beside their values.
    package func readable(withNotes: Bool) -> SharedBlock {
        if withNotes { return self }
        if let plainContent { return SharedBlock(plainContent) }
        return plainBytes.map { SharedBlock(bytes: $0) } ?? self
    }

    /// The size that the block adds to a frame, about, in bytes.
    package var size: Int { bytes.count }

    /// How much of the block compressing it again would not make smaller.
    var incompressibleSize: Int {
        bytes[0] != 0 || bytes.count >= Envelope.compressionThreshold ? bytes.count : 0
    }

    func encode(into writer: inout ByteWriter) { writer.data(bytes) }

    /// Reads a block that a message carries.
    static func content(from reader: inout ByteReader) throws(WireError) -> ViewBlock {
        try reader.part(ofLength: try reader.length()) { reader throws(WireError) in
            try Envelope.open(&reader) { reader throws(WireError) in try ViewBlock(from: &reader) }
        }
    }
}
