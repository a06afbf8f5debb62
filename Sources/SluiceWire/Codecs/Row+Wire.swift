package import SluiceModel

extension Row: WireCodable {
    /// Key, version, absent properties, the values; then, where there are any, the identities of lists by property.
    package func encode(into writer: inout ByteWriter) {
        key.encode(into: &writer)
        writer.varint(version)
        absent.encode(into: &writer)
        writer.array(values) { $1.encode(into: &$0) }
        guard hasIdentities else { return }
        writer.array(identities.sorted { $0.key < $1.key }) { writer, entry in
            writer.varint(entry.key)
            entry.value.encode(into: &writer)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let key = try ObjectKey(from: &reader)
        let version = try reader.varint()
        let absent = try PropertySet(from: &reader)
        let values = try reader.array { reader throws(WireError) in try Value(from: &reader) }
        self.init(key: key, version: version, values: values, absent: absent)
        guard !reader.isAtEnd else { return }
        let identities = try reader.array(minimumSize: 3) { reader throws(WireError) in
            (try reader.position(), try ListIdentity(from: &reader))
        }
        for (property, identity) in identities where property < values.count {
            setIdentity(identity, of: property)
        }
    }
}
