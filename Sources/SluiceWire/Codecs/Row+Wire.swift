package import SluiceModel

extension Row: WireCodable {
    /// Key, version, absent properties, then the values.
    package func encode(into writer: inout ByteWriter) {
        key.encode(into: &writer)
        writer.varint(version)
        absent.encode(into: &writer)
        writer.array(values) { $1.encode(into: &$0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let key = try ObjectKey(from: &reader)
        let version = try reader.varint()
        let absent = try PropertySet(from: &reader)
        let values = try reader.array { reader throws(WireError) in try Value(from: &reader) }
        self.init(key: key, version: version, values: values, absent: absent)
    }
}
