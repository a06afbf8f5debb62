internal import SluiceModel

extension TextColumn {
    /// Reads the texts of `count` rows.
    init(count: Int, from reader: inout ByteReader) throws(WireError) {
        let code = try reader.byte()
        switch ByteColumn.Form(rawValue: code) {
        case .plain:
            let (bytes, offsets) = try Self.texts(count: count, from: &reader)
            self.init(bytes, offsets: offsets, indexes: nil)
        case .dictionary:
            let distinct = try ByteColumn.dictionaryCount(rows: count, from: &reader)
            let (bytes, offsets) = try Self.texts(count: distinct, from: &reader)
            let indexes = try ByteColumn.indexes(count: count, below: distinct, from: &reader)
            self.init(bytes, offsets: offsets, indexes: indexes.map { Int32(truncatingIfNeeded: $0) })
        case nil: throw reader.malformed("\(code) is no form of a column")
        }
    }

    private static func texts(count: Int, from reader: inout ByteReader) throws(WireError) -> (Bytes, [Int]) {
        let lengths = try ByteColumn.lengths(count: count, from: &reader)
        var offsets: [Int] = [0]
        offsets.reserveCapacity(count + 1)
        var end = 0
        for length in lengths {
            end += Int(length)
            offsets.append(end)
        }
        let source = try reader.slice(end)
        guard areValid(source, offsets) else { throw reader.malformed("text that is not UTF-8") }
        return (Bytes(copying: source), offsets)
    }
}
