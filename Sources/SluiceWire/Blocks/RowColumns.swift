package import SluiceModel

/// Rows of one class that carry the same properties, by column, as a store reads them.
package struct RowColumns {
    package private(set) var keys: [ObjectKey] = []
    package private(set) var versions: [UInt64] = []
    private var keyColumn: ColumnBuilder
    /// A column for each property that the rows carry, in ascending order of property.
    package var columns: [ColumnBuilder]
    /// What the elements are of those lists that were edited, in the order of rows.
    private(set) var notes: [ListNote] = []
    /// What the notes of the open row take, in bytes.
    private var noteByteCount = 0
    /// What all rows take in a block at the most, in bytes.
    package private(set) var byteCount = 0
    /// What the largest row takes.
    package private(set) var rowByteCountMax = 0

    /// - Parameters:
    ///   - keyType: what the class's objects are identified by.
    ///   - kinds: what the values of each property are, in ascending order of property.
    package init(keyType: ScalarType, _ kinds: [ColumnBuilder.Kind]) {
        keyColumn =
            switch keyType {
            case .int: ColumnBuilder(.integers(.int))
            case .string: ColumnBuilder(.texts)
            default: ColumnBuilder(.values)
            }
        columns = kinds.map { ColumnBuilder($0) }
    }

    package var count: Int { keys.count }

    /// Notes what the elements of a list are, in the row that has not ended.
    ///
    /// - Parameter column: the position of the list's column.
    package mutating func note(_ identity: ListIdentity, column: Int) {
        notes.append(ListNote(row: count, column: column, .identity(identity)))
        noteByteCount += 8 + identity.byteCount
    }

    /// Ends a row, of whose values each column has one.
    ///
    /// - Parameter byteCount: what the values take in a block at the most, in bytes.
    package mutating func endRow(_ key: ObjectKey, version: UInt64, byteCount: Int) {
        keys.append(key)
        switch key {
        case .int(let number): _ = keyColumn.append(integer: number)
        case .string(var text): _ = text.withUTF8 { keyColumn.append(text: UnsafeRawBufferPointer($0)) }
        case .id, .uuid: _ = keyColumn.append(value: key.value)
        }
        versions.append(version)
        let size = 12 + key.byteCount + byteCount + noteByteCount
        noteByteCount = 0
        self.byteCount += size
        rowByteCountMax = max(rowByteCountMax, size)
    }

    /// The rows as a group has them.
    var columnar: ObjectGroup.Columnar {
        ObjectGroup.Columnar(columns: columns.map { $0.finish() }, keys: keyColumn.finish())
    }
}
