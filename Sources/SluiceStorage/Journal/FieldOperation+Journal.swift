internal import SluiceModel
internal import SluiceWire

/// The bytes of the changes that a write made to parts of properties.
extension FieldOperation {
    /// Additions, each as a position and an amount.
    static func encode(additions: [FieldOperation], into writer: inout ByteWriter) {
        writer.array(additions) { writer, field in
            guard case .add(let amount) = field.change else { return }
            writer.varint(field.property)
            amount.encode(into: &writer)
        }
    }

    static func additions(from reader: inout ByteReader) throws(WireError) -> [FieldOperation] {
        try reader.array { reader throws(WireError) in
            FieldOperation(try reader.position(), .add(try Value(from: &reader)))
        }
    }
}
