internal import SluiceModel

/// A column of 128-bit identifiers (object ids, UUIDs): plain, with a dictionary, or in halves.
enum IdentifierColumn {
    enum Form: UInt8 {
        /// 16 big-endian bytes each.
        case plain = 0
        /// The count of distinct identifiers, those, then an index for each row.
        case dictionary = 1
        /// A dictionary of upper halves, then the lower halves as integers: ids of few origins with close counters.
        case halves = 2
    }

    static func encode(_ values: [ObjectID], into writer: inout ByteWriter) {
        var bestSize = values.count * 16
        var best = Form.plain
        let whole = Distinct(values) {
            $0
        } hash: {
            DistinctTable.mix($0.high ^ DistinctTable.mix($0.low))
        }
        let wholeIndexes = whole.map { IntegerPlan($0.indexes) }
        if let whole, let wholeIndexes {
            let size = 2 + whole.values.count * 16 + wholeIndexes.size
            if size < bestSize { (best, bestSize) = (.dictionary, size) }
        }
        let upper = Distinct(values) {
            $0.high
        } hash: {
            DistinctTable.mix($0)
        }
        let upperIndexes = upper.map { IntegerPlan($0.indexes) }
        let lower = upper == nil ? [] : values.map { Int64(bitPattern: $0.low) }
        let lowerPlan = IntegerPlan(lower)
        if let upper, let upperIndexes {
            let size = 2 + upper.values.count * 8 + upperIndexes.size + lowerPlan.size
            if size < bestSize { (best, bestSize) = (.halves, size) }
        }
        writer.byte(best.rawValue)
        switch best {
        case .dictionary:
            guard let whole, let wholeIndexes else { return }
            writer.varint(whole.values.count)
            for value in whole.values { value.encode(into: &writer) }
            IntegerSequence.encode(whole.indexes, plan: wholeIndexes, into: &writer)
        case .halves:
            guard let upper, let upperIndexes else { return }
            writer.varint(upper.values.count)
            for value in upper.values { writer.fixed64(value.byteSwapped) }
            IntegerSequence.encode(upper.indexes, plan: upperIndexes, into: &writer)
            IntegerSequence.encode(lower, plan: lowerPlan, into: &writer)
        case .plain:
            for value in values { value.encode(into: &writer) }
        }
    }

    static func decode(count: Int, from reader: inout ByteReader) throws(WireError) -> [ObjectID] {
        guard count > 0 else { return [] }
        let code = try reader.byte()
        switch Form(rawValue: code) {
        case .plain:
            return try plain(count, from: &reader)
        case .dictionary:
            let distinct = try ByteColumn.dictionaryCount(rows: count, from: &reader)
            let values = try plain(distinct, from: &reader)
            return try ByteColumn.indexes(count: count, below: distinct, from: &reader).map { values[Int($0)] }
        case .halves:
            let distinct = try ByteColumn.dictionaryCount(rows: count, from: &reader)
            guard distinct <= reader.remaining / 8 else { throw reader.truncated(by: distinct * 8 - reader.remaining) }
            var upper: [UInt64] = []
            upper.reserveCapacity(distinct)
            for _ in 0..<distinct { upper.append(try reader.fixed64().byteSwapped) }
            let indexes = try ByteColumn.indexes(count: count, below: distinct, from: &reader)
            let lower = try IntegerSequence.decode(count: count, from: &reader)
            return (0..<count).map { ObjectID(high: upper[Int(indexes[$0])], low: UInt64(bitPattern: lower[$0])) }
        case nil: throw reader.malformed("\(code) is no form of a column")
        }
    }

    private static func plain(_ count: Int, from reader: inout ByteReader) throws(WireError) -> [ObjectID] {
        guard count <= reader.remaining / 16 else { throw reader.truncated(by: count * 16 - reader.remaining) }
        var values: [ObjectID] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try ObjectID(from: &reader)) }
        return values
    }

    /// The distinct parts of a column's values and which of them each row has; nil as soon as most are different.
    private struct Distinct<Part: Equatable> {
        var values: [Part] = []
        var indexes: [Int64] = []

        @inline(__always)
        init?(_ source: [ObjectID], _ part: (ObjectID) -> Part, hash: (Part) -> UInt64) {
            guard !source.isEmpty else { return nil }
            var table = DistinctTable(capacity: source.count)
            indexes.reserveCapacity(source.count)
            for (row, id) in source.enumerated() {
                let value = part(id)
                let found = table.index(hash: hash(value)) { values[$0] == value }
                if found.isNew {
                    if row >= 1024, table.count * 2 > row { return nil }
                    values.append(value)
                }
                indexes.append(Int64(found.index))
            }
        }
    }
}
