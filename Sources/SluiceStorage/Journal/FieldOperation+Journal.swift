internal import SluiceModel
internal import SluiceWire

/// The bytes of the changes that a write made to parts of properties. There are few files with edits of elements, and
/// many from before there were any, so the two kinds are told apart by the flags of what they belong to.
extension [FieldOperation] {
    private static let hasAdditions: UInt8 = 4
    private static let hasEdits: UInt8 = 8

    /// The flags that may be set.
    static let journalFlags = hasAdditions | hasEdits

    /// The flags that say which bytes follow.
    var journalFlags: UInt8 {
        reduce(0) { flags, field in
            if case .add = field.change { flags | Self.hasAdditions } else { flags | Self.hasEdits }
        }
    }

    /// Additions, each as a position and an amount; then edits, as they travel.
    func encodeForJournal(into writer: inout ByteWriter) {
        let flags = journalFlags
        if flags & Self.hasAdditions != 0 {
            let additions = compactMap { field in
                if case .add(let amount) = field.change { (field.property, amount) } else { nil }
            }
            writer.array(additions) { writer, addition in
                writer.varint(addition.0)
                addition.1.encode(into: &writer)
            }
        }
        if flags & Self.hasEdits != 0 {
            let edits = filter { if case .add = $0.change { false } else { true } }
            writer.array(edits) { $1.encode(into: &$0) }
        }
    }

    init(flags: UInt8, fromJournal reader: inout ByteReader) throws(WireError) {
        self = []
        if flags & Self.hasAdditions != 0 {
            self = try reader.array { reader throws(WireError) in
                FieldOperation(try reader.position(), .add(try Value(from: &reader)))
            }
        }
        if flags & Self.hasEdits != 0 {
            self += try reader.array { reader throws(WireError) in try FieldOperation(from: &reader) }
        }
    }
}
