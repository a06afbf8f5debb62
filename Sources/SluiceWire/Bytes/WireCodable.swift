/// A type with one binary form, the same on the wire and in stored blobs. PROTOCOL.md describes each.
package protocol WireCodable {
    /// Appends the binary form.
    func encode(into writer: inout ByteWriter)

    /// Reads the binary form.
    ///
    /// - Throws: ``WireError`` where the bytes are not such a form or exceed the reader's limits.
    init(from reader: inout ByteReader) throws(WireError)
}

extension WireCodable {
    /// The binary form alone, for a stored blob.
    package func wireBytes() -> [UInt8] {
        var writer = ByteWriter()
        encode(into: &writer)
        return writer.bytes
    }

    /// Decodes a stored blob that holds exactly one binary form.
    package init(wireBytes bytes: [UInt8], limits: WireLimits = .standard) throws(WireError) {
        self = try ByteReader.decode(bytes, limits: limits) { reader throws(WireError) in try Self(from: &reader) }
    }
}
