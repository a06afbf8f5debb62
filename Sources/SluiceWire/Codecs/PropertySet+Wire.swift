package import SluiceModel

extension PropertySet: WireCodable {
    /// The count of 64-bit words, then each as a varint; the lowest positions come first.
    package func encode(into writer: inout ByteWriter) {
        writer.array(isEmpty ? [] : words) { $0.varint($1) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let count = try reader.count()
        guard count <= (Schema.propertyCountMax + 63) / 64 else {
            throw reader.malformed("a set of properties beyond position \(Schema.propertyCountMax)")
        }
        var words: [UInt64] = []
        for _ in 0..<count { words.append(try reader.varint()) }
        self.init(words: words)
    }
}
