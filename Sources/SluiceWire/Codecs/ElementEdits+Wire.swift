package import SluiceModel

extension ElementEdits: WireCodable {
    /// What is inserted, as a set or map, then the array of the erased elements or keys.
    package func encode(into writer: inout ByteWriter) {
        inserted.encode(into: &writer)
        writer.array(erased) { $1.encode(into: &$0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let inserted = try Value(from: &reader)
        let erased = try reader.array { reader throws(WireError) in try Value(from: &reader) }
        switch inserted {
        case .set(let elements): self.init(inserting: elements, erasing: erased)
        case .map(let map):
            var keys: [String] = []
            for name in erased {
                guard case .string(let key) = name else { throw reader.malformed("a key of a map that is no text") }
                keys.append(key)
            }
            self.init(setting: map.entries, erasing: keys)
        default: throw reader.malformed("edits of what is neither a set nor a map")
        }
    }
}
