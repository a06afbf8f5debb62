internal import SluiceModel

/// A column of byte strings of any length (texts, blobs): plain, with a ``ByteDictionary`` or as ``NumberedTexts``.
struct ByteColumn {
    enum Form: UInt8 {
        /// The lengths, then all bytes.
        case plain = 0
        /// The count of distinct byte strings, their lengths, their bytes, then an index for each row.
        case dictionary = 1
        /// The same, with the entries in the order of their bytes. Each has the length of the beginning that it shares
        /// with the one before, and the length and the bytes of the rest.
        case sharedPrefixes = 2
        /// What all begin with, the count of digits, and the number with which each ends.
        case numbered = 3
    }

    /// Fewer bytes of entries gain too little from an order.
    private static let sortedSizeMin = 256

    private var bytes: [UInt8] = []
    private var lengths: [Int64] = []
    /// Which of how many texts each row has, where that is known; no rows where it is not.
    private var sources: (count: Int, rows: [Int32]) = (0, [])

    init(capacity: Int) { lengths.reserveCapacity(capacity) }

    /// The texts of those rows of a column that are not null.
    init(_ texts: TextColumn, count: Int, isNull: [Bool]) {
        if texts.indexes == nil, isNull.isEmpty {
            bytes = Array(texts.allBytes)
            lengths = texts.lengths
            return
        }
        lengths.reserveCapacity(count)
        if texts.indexes != nil {
            sources.count = texts.distinctCount
            sources.rows.reserveCapacity(count)
        }
        for row in 0..<count where isNull.isEmpty || !isNull[row] {
            let index = texts.index(ofRow: row)
            let text = texts.utf8(index)
            bytes.append(contentsOf: text)
            lengths.append(Int64(text.count))
            if sources.count > 0 { sources.rows.append(Int32(truncatingIfNeeded: index)) }
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
        let numbered = NumberedTexts(bytes, lengths: lengths)
        let dictionary = numbered?.isAscending == true ? nil : dictionary()
        if let numbered, numbered.size <= min(bytes.count, dictionary?.size ?? .max) {
            return numbered.encode(into: &writer)
        }
        if let dictionary,
            dictionary.size <= bytes.count || dictionary.size < 1 + IntegerPlan(lengths).size + bytes.count
        {
            return dictionary.encode(into: &writer)
        }
        writer.byte(Form.plain.rawValue)
        IntegerSequence.encode(lengths, into: &writer)
        writer.raw(bytes)
    }

    /// The smaller dictionary; nil as soon as hardly any value turns out to come twice.
    private func dictionary() -> ByteDictionary? {
        var table = DistinctTable(capacity: lengths.count)
        var entries = ByteDictionary.Entries()
        var indexes: [Int64] = []
        indexes.reserveCapacity(lengths.count)
        // The entry of each source that has come.
        var known = [Int64](repeating: -1, count: sources.count)
        var offset = 0
        let isWorthwhile = bytes.withUnsafeBytes { source in
            for (row, length) in lengths.enumerated() {
                defer { offset += Int(length) }
                if sources.count > 0, case let index = known[Int(sources.rows[row])], index >= 0 {
                    indexes.append(index)
                    continue
                }
                let value = UnsafeRawBufferPointer(rebasing: source[offset..<offset + Int(length)])
                let found = table.index(hash: DistinctTable.hash(value)) { entries.has(value, at: $0) }
                if found.isNew {
                    if row >= 1024, (row - table.count) * 8 < row { return false }
                    entries.append(value)
                }
                indexes.append(Int64(found.index))
                if sources.count > 0 { known[Int(sources.rows[row])] = Int64(found.index) }
            }
            return table.count < lengths.count
        }
        guard isWorthwhile else { return nil }
        let dictionary = ByteDictionary(entries, indexes: indexes)
        guard entries.bytes.count >= Self.sortedSizeMin else { return dictionary }
        let sorted = ByteDictionary(sorting: entries, indexes: indexes)
        return sorted.size < dictionary.size ? sorted : dictionary
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
        case .sharedPrefixes:
            let distinct = try dictionaryCount(rows: count, from: &reader)
            let values = try values(of: try sharedPrefixes(count: distinct, from: &reader), reader, make)
            let indexes = try indexes(count: count, below: distinct, from: &reader)
            for row in 0..<count { body(row, values[Int(indexes[row])]) }
        case .numbered:
            let values = try values(of: try NumberedTexts.decode(count: count, from: &reader), reader, make)
            for row in 0..<count { body(row, values[row]) }
        case nil: throw reader.malformed("\(code) is no form of a column")
        }
    }

    /// Makes the values of byte strings that were expanded.
    @inline(__always)
    private static func values<Element>(
        of expanded: (bytes: [UInt8], lengths: [Int64]), _ reader: ByteReader,
        _ make: (inout ByteReader, Int) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        try expanded.bytes.withUnsafeBufferPointer { buffer throws(WireError) in
            var entries = ByteReader(
                UnsafeRawBufferPointer(buffer), limits: reader.limits, budget: reader.budget)
            var values: [Element] = []
            values.reserveCapacity(expanded.lengths.count)
            for length in expanded.lengths { values.append(try make(&entries, Int(length))) }
            return values
        }
    }

    /// Reads entries that share beginnings: the bytes of all, one after the other, and their lengths.
    static func sharedPrefixes(
        count: Int, from reader: inout ByteReader
    ) throws(WireError) -> (bytes: [UInt8], lengths: [Int64]) {
        let shared = try IntegerSequence.decode(count: count, from: &reader)
        var lengths = try lengths(count: count, from: &reader)
        var suffixSize = 0
        var sharedSize: Int64 = 0
        var previous: Int64 = 0
        for index in 0..<count {
            guard shared[index] >= 0, shared[index] <= previous else {
                throw reader.malformed("\(shared[index]) bytes shared with an entry of \(previous)")
            }
            sharedSize += shared[index]
            guard sharedSize <= Int64(reader.budget.expansion) else {
                throw WireError(
                    .limitExceeded,
                    "entries that share \(sharedSize) bytes; \(reader.budget.expansion) may still come",
                    offset: reader.offset)
            }
            suffixSize += Int(lengths[index])
            lengths[index] += shared[index]
            previous = lengths[index]
        }
        reader.budget.expansion -= Int(sharedSize)
        let suffixes = try reader.slice(suffixSize)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(suffixSize + Int(sharedSize))
        var start = 0
        var next = 0
        for index in 0..<count {
            let end = bytes.count
            let suffixCount = Int(lengths[index] - shared[index])
            for offset in start..<start + Int(shared[index]) { bytes.append(bytes[offset]) }
            bytes.append(contentsOf: suffixes[next..<next + suffixCount])
            next += suffixCount
            start = end
        }
        return (bytes, lengths)
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
