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
        case .sharedPrefixes:
            let distinct = try ByteColumn.dictionaryCount(rows: count, from: &reader)
            let entries = try ByteColumn.sharedPrefixes(count: distinct, from: &reader)
            let (texts, offsets) = try Self.texts(entries, reader)
            let indexes = try ByteColumn.indexes(count: count, below: distinct, from: &reader)
            self.init(texts, offsets: offsets, indexes: indexes.map { Int32(truncatingIfNeeded: $0) })
        case .numbered:
            let (bytes, offsets) = try Self.texts(try NumberedTexts.decode(count: count, from: &reader), reader)
            self.init(bytes, offsets: offsets, indexes: nil)
        case nil: throw reader.malformed("\(code) is no form of a column")
        }
    }

    private static func texts(count: Int, from reader: inout ByteReader) throws(WireError) -> (Bytes, [Int]) {
        let lengths = try ByteColumn.lengths(count: count, from: &reader)
        let source = try reader.slice(lengths.reduce(0) { $0 + Int($1) })
        return try texts(source, lengths: lengths, reader)
    }

    /// The texts of byte strings that were expanded.
    private static func texts(
        _ expanded: (bytes: [UInt8], lengths: [Int64]), _ reader: ByteReader
    ) throws(WireError) -> (Bytes, [Int]) {
        try expanded.bytes.withUnsafeBufferPointer { source throws(WireError) in
            try texts(UnsafeRawBufferPointer(source), lengths: expanded.lengths, reader)
        }
    }

    private static func texts(
        _ source: UnsafeRawBufferPointer, lengths: [Int64], _ reader: ByteReader
    ) throws(WireError) -> (Bytes, [Int]) {
        var offsets: [Int] = [0]
        offsets.reserveCapacity(lengths.count + 1)
        var end = 0
        for length in lengths {
            end += Int(length)
            offsets.append(end)
        }
        guard areValid(source, offsets) else { throw reader.malformed("text that is not UTF-8") }
        return (Bytes(copying: source), offsets)
    }
}
