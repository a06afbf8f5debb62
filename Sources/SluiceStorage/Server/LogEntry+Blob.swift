internal import SluiceModel
package import SluiceWire

/// The stored form of the changes of an entry.
extension LogChange: WireCodable {
    private static let hasAdditions: UInt8 = 4

    package func encode(into writer: inout ByteWriter) {
        object.encode(into: &writer)
        writer.byte(kind.rawValue | (additions.isEmpty ? 0 : Self.hasAdditions))
        writer.varint(oldVersion)
        written.encode(into: &writer)
        writer.array(oldValues) { $1.encode(into: &$0) }
        guard !additions.isEmpty else { return }
        writer.array(additions) { writer, addition in
            writer.varint(addition.property)
            addition.amount.encode(into: &writer)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let object = try ObjectRef(from: &reader)
        let flags = try reader.byte()
        guard let kind = Kind(rawValue: flags & 3), flags & ~(3 | Self.hasAdditions) == 0 else {
            throw WireError(.malformed, "a change of kind \(flags)", offset: reader.offset)
        }
        let oldVersion = try reader.varint()
        let written = try PropertySet(from: &reader)
        let oldValues = try reader.array { reader throws(WireError) in try Value(from: &reader) }
        var additions: [Addition] = []
        if flags & Self.hasAdditions != 0 {
            additions = try reader.array { reader throws(WireError) in
                Addition(property: try reader.position(), amount: try Value(from: &reader))
            }
        }
        if kind == .update, oldValues.count != written.count {
            throw WireError(.malformed, "\(oldValues.count) values of \(written.count)", offset: reader.offset)
        }
        self.init(
            object, kind, oldVersion: oldVersion, written: written, oldValues: oldValues, additions: additions)
    }
}
