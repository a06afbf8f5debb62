internal import SluiceModel

extension ObjectBlock: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.array(groups) { $1.encode(into: &$0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            groups: try reader.array(minimumSize: 4) { reader throws(WireError) in try ObjectGroup(from: &reader) })
    }
}

extension ObjectGroup: WireCodable {
    /// Class, role, properties and row count, then the keys, the versions and a column for each property.
    package func encode(into writer: inout ByteWriter) {
        writer.varint(classIndex)
        writer.byte(role.rawValue | (notes.isEmpty ? 0 : Self.hasNotes))
        properties.encode(into: &writer)
        writer.varint(count)
        guard count > 0 else { return }
        if let columnar, notes.isEmpty { return encode(columnar, into: &writer) }
        let keyValues = keys.map(\.value)
        keyValues.withUnsafeBufferPointer {
            WireColumn.encode(ColumnCells($0, first: 0, stride: 1, count: count), into: &writer)
        }
        IntegerSequence.encode(versions.map { Int64(bitPattern: $0) }, into: &writer)
        let cells = travellingCells
        cells.withUnsafeBufferPointer { cells in
            for index in 0..<width {
                let column = ColumnCells(cells, first: index, stride: width, count: count)
                if (0..<count).allSatisfy({ column[$0] == keyValues[$0] }) {
                    writer.byte(ColumnKind.key.rawValue)
                } else {
                    WireColumn.encode(column, into: &writer)
                }
            }
        }
        if !notes.isEmpty { writer.array(notes) { $1.encode(into: &$0) } }
    }

    /// Keys, versions and columns of rows that lie by column already.
    private func encode(_ rows: Columnar, into writer: inout ByteWriter) {
        WireColumn.encode(rows.keys, into: &writer)
        IntegerSequence.encode(versions.map { Int64(bitPattern: $0) }, into: &writer)
        for column in rows.columns {
            if column.repeats(rows.keys) {
                writer.byte(ColumnKind.key.rawValue)
            } else {
                WireColumn.encode(column, into: &writer)
            }
        }
    }

    /// The flag in the role's byte that says that notes follow.
    private static let hasNotes: UInt8 = 0x10

    /// The values, without those of lists that travel as edits.
    private var travellingCells: [Value] {
        guard !notes.isEmpty else { return cells }
        var cells = cells
        for note in notes { if case .edits = note.content { cells[note.row * width + note.column] = .list([]) } }
        return cells
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let classIndex = try reader.position()
        let flags = try reader.byte()
        let roleCode = flags & ~Self.hasNotes
        guard let role = RowRole(rawValue: roleCode) else { throw reader.malformed("\(roleCode) is no role of a row") }
        self.init(classIndex: classIndex, role: role, properties: try PropertySet(from: &reader))
        let announced = try reader.varint()
        guard announced <= UInt64(reader.budget.elements / (width + 2)) else {
            throw WireError(
                .limitExceeded, "\(announced) rows of \(width) properties, more than a frame may hold",
                offset: reader.offset)
        }
        let count = Int(announced)
        try reader.spend(elements: count * (width + 2))
        guard count > 0 else { return }
        let keyColumn = try WireColumn.decode(count: count, from: &reader)
        keys = try ObjectKey.keys(of: keyColumn, reader)
        versions = try IntegerSequence.decode(count: count, from: &reader).map { UInt64(bitPattern: $0) }
        var columns: [ValueColumn] = []
        columns.reserveCapacity(width)
        for _ in 0..<width { columns.append(try WireColumn.decode(count: count, hasKeys: true, from: &reader)) }
        columnar = Columnar(columns: columns, keys: keyColumn)
        guard flags & Self.hasNotes != 0 else { return }
        notes = try reader.array(minimumSize: 5) { reader throws(WireError) in try ListNote(from: &reader) }
        guard notes.allSatisfy({ $0.row < count && $0.column < width }) else {
            throw reader.malformed("a note on a list that the rows do not have")
        }
        for note in notes {
            guard case .edits = note.content else { continue }
            // Nothing else would come back when the group is encoded again.
            guard columns[note.column].value(at: note.row, keys: keys) == .list([]) else {
                throw reader.malformed("a value beside the edits that lead to it")
            }
        }
    }
}

extension ObjectKey {
    /// Reads a column of keys, at least one; the caller has taken them off the budget.
    static func column(count: Int, from reader: inout ByteReader) throws(WireError) -> [ObjectKey] {
        try keys(of: WireColumn.decode(count: count, from: &reader), reader)
    }

    /// The values of a column as keys.
    static func keys(of column: ValueColumn, _ reader: ByteReader) throws(WireError) -> [ObjectKey] {
        guard column.isNull.isEmpty else { throw reader.malformed("a null for a key") }
        switch column.content {
        case .integers(.int, let numbers): return numbers.map { .int($0) }
        case .texts(.string, let texts):
            return (0..<column.count).map { .string(texts.text(texts.index(ofRow: $0))) }
        default: break
        }
        var keys: [ObjectKey] = []
        keys.reserveCapacity(column.count)
        for value in column.values(keys: []) {
            switch value {
            case .objectID(let id): keys.append(.id(id))
            case .int(let key): keys.append(.int(key))
            case .string(let key): keys.append(.string(key))
            case .uuid(let key): keys.append(.uuid(key))
            default: throw reader.malformed("a \(value.kindName) for a key")
            }
        }
        return keys
    }
}
