package import SluiceModel

/// What a block says of one list beside its value: what its elements are, or how it comes from what the receiver has.
package struct ListNote: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// The identity of the value's elements; a list without a note was set as a whole.
        case identity(ListIdentity)
        /// What was done to the list that the receiver has. The value does not travel.
        case edits(ListEdits)
    }

    /// The position of the row in its group.
    package var row: Int
    /// The position of the property among those that the group carries.
    package var column: Int
    package var content: Content

    package init(row: Int, column: Int, _ content: Content) {
        self.row = row
        self.column = column
        self.content = content
    }
}

extension ListNote: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.varint(row)
        writer.varint(column)
        switch content {
        case .identity(let identity):
            writer.byte(0)
            identity.encode(into: &writer)
        case .edits(let edits):
            writer.byte(1)
            edits.encode(into: &writer)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        row = try reader.position()
        column = try reader.position()
        switch try reader.byte() {
        case 0: content = .identity(try ListIdentity(from: &reader))
        case 1: content = .edits(try ListEdits(from: &reader))
        case let kind: throw reader.malformed("\(kind) is no kind of note on a list")
        }
    }
}
