internal import SluiceModel

/// A column of byte strings of any length (texts, blobs), plain or with a dictionary.
struct ByteColumn {
    enum Form: UInt8 {
        /// The lengths, then all bytes.
        case plain = 0
        /// The count of distinct byte strings, their lengths, their bytes, then an index for each row.
        case dictionary = 1
    }

    private var bytes: [UInt8] = []
    private var lengths: [Int64] = []

    init(capacity: Int) { lengths.reserveCapacity(capacity) }

    /// The texts of those rows of a column that are not null.
    init(_ texts: TextColumn, count: Int, isNull: [Bool]) {
        if texts.indexes == nil, isNull.isEmpty {
            bytes = Array(texts.allBytes)
            lengths = texts.lengths
            return
        }
        lengths.reserveCapacity(count)
        for row in 0..<count where isNull.isEmpty || !isNull[row] {
            let text = texts.utf8(texts.index(ofRow: row))
            bytes.append(contentsOf: text)
            lengths.append(Int64(text.count))
        }
    }

    @inline(__always)
    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 {
            bytes.append(contentsOf: $0)
            lengths.append(Int64($0.count))
        }
    }

    mutating func append(_ data: [UInt8]) {
        bytes.append(contentsOf: data)
        lengths.append(Int64(data.count))
    }

    func encode(into writer: inout ByteWriter) {
        let plainLengths = IntegerSequence.plan(lengths)
        let plainSize = plainLengths.size + bytes.count
        if let dictionary = dictionary() {
            let dictionaryLengths = IntegerSequence.plan(dictionary.lengths)
            let indexes = IntegerSequence.plan(dictionary.indexes)
            let size = 2 + dictionaryLengths.size + dictionary.bytes.count + indexes.size
            if size < plainSize {
                writer.byte(Form.dictionary.rawValue)
                writer.varint(dictionary.lengths.count)
                IntegerSequence.encode(dictionary.lengths, plan: dictionaryLengths, into: &writer)
                writer.raw(dictionary.bytes)
                IntegerSequence.encode(dictionary.indexes, plan: indexes, into: &writer)
                return
            }
        }
        writer.byte(Form.plain.rawValue)
        IntegerSequence.encode(lengths, plan: plainLengths, into: &writer)
        writer.raw(bytes)
    }

    private struct Dictionary {
        var bytes: [UInt8] = []
        var lengths: [Int64] = []
        var offsets: [Int] = []
        var indexes: [Int64] = []
    }

    /// The dictionary; nil as soon as most values turn out to be different.
    private func dictionary() -> Dictionary? {
        var table = DistinctTable(capacity: lengths.count)
        var dictionary = Dictionary()
        dictionary.indexes.reserveCapacity(lengths.count)
        var offset = 0
        let isWorthwhile = bytes.withUnsafeBytes { source in
            for (row, length) in lengths.enumerated() {
                let value = UnsafeRawBufferPointer(rebasing: source[offset..<offset + Int(length)])
                let found = table.index(hash: DistinctTable.hash(value)) { index in
                    dictionary.lengths[index] == length
                        && source[dictionary.offsets[index]..<dictionary.offsets[index] + Int(length)]
                            .elementsEqual(value)
                }
                if found.isNew {
                    if row >= 1024, table.count * 2 > row { return false }
                    dictionary.lengths.append(length)
                    dictionary.offsets.append(offset)
                    dictionary.bytes.append(contentsOf: value)
                }
                dictionary.indexes.append(Int64(found.index))
                offset += Int(length)
            }
            return table.count < lengths.count
        }
        return isWorthwhile ? dictionary : nil
    }

    /// Reads a column of `count` byte strings and hands each on.
    ///
    /// - Parameters:
    ///   - make: turns `count` bytes at the reader into a value, once for each distinct one.
    ///   - body: takes the row and its value.
    @inline(__always)
    static func decode<Element>(
        count: Int, from reader: inout ByteReader,
        make: (inout ByteReader, Int) throws(WireError) -> Element, _ body: (Int, Element) -> Void
    ) throws(WireError) {
        let code = try reader.byte()
        switch Form(rawValue: code) {
        case .plain:
            let lengths = try lengths(count: count, from: &reader)
            for row in 0..<count { body(row, try make(&reader, Int(lengths[row]))) }
        case .dictionary:
            let distinct = try dictionaryCount(rows: count, from: &reader)
            let lengths = try lengths(count: distinct, from: &reader)
            var values: [Element] = []
            values.reserveCapacity(distinct)
            for length in lengths { values.append(try make(&reader, Int(length))) }
            let indexes = try indexes(count: count, below: distinct, from: &reader)
            for row in 0..<count { body(row, values[Int(indexes[row])]) }
        case nil: throw reader.malformed("\(code) is no form of a column")
        }
    }

    static func lengths(count: Int, from reader: inout ByteReader) throws(WireError) -> [Int64] {
        let lengths = try IntegerSequence.decode(count: count, from: &reader)
        var left = Int64(reader.remaining)
        for length in lengths {
            guard length >= 0, length <= left else {
                throw WireError(.truncated, "a value's length of \(length) bytes, \(left) left", offset: reader.offset)
            }
            left -= length
        }
        return lengths
    }

    static func dictionaryCount(rows: Int, from reader: inout ByteReader) throws(WireError) -> Int {
        let count = try reader.varint()
        guard count > 0, count <= UInt64(rows) else {
            throw reader.malformed("a dictionary of \(count) values for \(rows) rows")
        }
        return Int(count)
    }

    static func indexes(
        count: Int, below bound: Int, from reader: inout ByteReader
    ) throws(WireError) -> [Int64] {
        let indexes = try IntegerSequence.decode(count: count, from: &reader)
        for index in indexes where index < 0 || index >= Int64(bound) {
            throw reader.malformed("an index of \(index) into \(bound) values")
        }
        return indexes
    }
}
