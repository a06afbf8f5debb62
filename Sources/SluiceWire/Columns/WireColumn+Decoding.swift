internal import FoundationEssentials
internal import SluiceModel

extension WireColumn {
    /// Reads a column of `count` values, which the caller has taken off the budget.
    ///
    /// - Parameters:
    ///   - hasKeys: whether the rows have keys that the column may repeat.
    ///   - isNested: whether they are elements of another column's collections.
    static func decode(
        count: Int, hasKeys: Bool = false, isNested: Bool = false, from reader: inout ByteReader
    ) throws(WireError) -> ValueColumn {
        let header = try reader.byte()
        guard count > 0 else {
            guard header == ColumnKind.null.rawValue else {
                throw reader.malformed("an empty column that says more than that")
            }
            return ValueColumn(count: 0, .null)
        }
        let hasNulls = header & ColumnKind.nullsFlag != 0
        guard let kind = ColumnKind(rawValue: header & ~ColumnKind.nullsFlag) else {
            throw reader.malformed("\(header) is no kind of column")
        }
        guard !hasNulls || kind.canHaveNulls else {
            throw reader.malformed("a column of the kind \(kind.rawValue) that marks nulls")
        }
        switch kind {
        case .null: return ValueColumn(count: count, .null)
        case .mixed:
            var values: [Value] = []
            values.reserveCapacity(count)
            for _ in 0..<count { values.append(try Value(from: &reader)) }
            return ValueColumn(values)
        case .key:
            guard hasKeys else { throw reader.malformed("a column of keys where there are none") }
            return ValueColumn(count: count, .key)
        default:
            if isNested, kind.isCollection {
                throw reader.malformed("a column of collections within collections")
            }
            return try decode(kind, Rows(count: count, hasNulls: hasNulls, from: &reader), from: &reader)
        }
    }

    private static func decode(
        _ kind: ColumnKind, _ rows: Rows, from reader: inout ByteReader
    ) throws(WireError) -> ValueColumn {
        switch kind {
        case .bool:
            let values = try IntegerSequence.decode(count: rows.presentCount, from: &reader)
            guard values.allSatisfy({ $0 == 0 || $0 == 1 }) else { throw reader.malformed("a truth value above 1") }
            return rows.column(.integers(.bool, rows.spread(values, 0)))
        case .int: return try integers(.int, rows, from: &reader)
        case .date: return try integers(.date, rows, from: &reader)
        case .linkInt: return try integers(.link, rows, from: &reader)
        case .float:
            let values = try FloatingColumn.decode(count: rows.presentCount, isSingle: true, from: &reader)
            return rows.column(.floats(rows.spread(values, 0)))
        case .double:
            let values = try FloatingColumn.decode(count: rows.presentCount, isSingle: false, from: &reader)
            return rows.column(.doubles(rows.spread(values, 0)))
        case .string: return try texts(.string, rows, from: &reader)
        case .linkString: return try texts(.link, rows, from: &reader)
        case .data:
            return try bytes(rows, from: &reader) { (reader, count) throws(WireError) in
                .data(try reader.raw(count))
            }
        case .decimal:
            return try bytes(rows, from: &reader) { (reader, count) throws(WireError) in
                .decimal(try reader.decimal(count))
            }
        case .uuid: return try identifiers(rows, from: &reader) { .uuid($0.uuid) }
        case .objectID: return try identifiers(rows, from: &reader) { .objectID($0) }
        case .linkID: return try identifiers(rows, from: &reader) { .link(.id($0)) }
        case .linkUUID: return try identifiers(rows, from: &reader) { .link(.uuid($0.uuid)) }
        case .list, .set, .map: return try collections(kind, rows, from: &reader)
        case .null, .key, .mixed: return ValueColumn(count: rows.count, .null)
        }
    }

    private static func integers(
        _ kind: ValueColumn.Integers, _ rows: Rows, from reader: inout ByteReader
    ) throws(WireError) -> ValueColumn {
        let values = try IntegerSequence.decode(count: rows.presentCount, from: &reader)
        return rows.column(.integers(kind, rows.spread(values, 0)))
    }

    private static func texts(
        _ kind: ValueColumn.Texts, _ rows: Rows, from reader: inout ByteReader
    ) throws(WireError) -> ValueColumn {
        let texts = try TextColumn(count: rows.presentCount, from: &reader)
        guard let present = rows.present else { return rows.column(.texts(kind, texts)) }
        guard !present.isEmpty else { return ValueColumn(count: rows.count, .null) }
        return rows.column(.texts(kind, texts.spread(over: present, count: rows.count)))
    }

    @inline(__always)
    private static func bytes(
        _ rows: Rows, from reader: inout ByteReader,
        _ value: (inout ByteReader, Int) throws(WireError) -> Value
    ) throws(WireError) -> ValueColumn {
        var values: [Value] = []
        values.reserveCapacity(rows.presentCount)
        try ByteColumn.decode(count: rows.presentCount, from: &reader, make: value) { values.append($1) }
        return ValueColumn(rows.spread(values, .null))
    }

    @inline(__always)
    private static func identifiers(
        _ rows: Rows, from reader: inout ByteReader, _ value: (ObjectID) -> Value
    ) throws(WireError) -> ValueColumn {
        let ids = try IdentifierColumn.decode(count: rows.presentCount, from: &reader)
        return ValueColumn(rows.spread(ids.map(value), .null))
    }

    private static func collections(
        _ kind: ColumnKind, _ rows: Rows, from reader: inout ByteReader
    ) throws(WireError) -> ValueColumn {
        let counts = try IntegerSequence.decode(count: rows.presentCount, from: &reader)
        var total = 0
        for count in counts {
            guard count >= 0, count <= Int64(reader.budget.elements) else {
                throw WireError(.limitExceeded, "a collection of \(count) elements", offset: reader.offset)
            }
            try reader.spend(elements: Int(count))
            total += Int(count)
        }
        var keys: [String] = []
        if kind == .map {
            keys.reserveCapacity(total)
            try ByteColumn.decode(
                count: total, from: &reader, make: { (reader, count) throws(WireError) in try reader.text(count) }
            ) { keys.append($1) }
        }
        let elements = try decode(count: total, isNested: true, from: &reader).values(keys: [])
        var values: [Value] = []
        values.reserveCapacity(counts.count)
        var next = 0
        for count in counts {
            let part = elements[next..<next + Int(count)]
            switch kind {
            case .set: values.append(Value(setOf: Array(part)))
            case .map:
                var map = ValueMap()
                for index in part.indices { try map.append(keys[index], elements[index], reader) }
                values.append(.map(map))
            default: values.append(.list(Array(part)))
            }
            next += Int(count)
        }
        return ValueColumn(rows.spread(values, .null))
    }

    /// Which rows of a column are not null.
    private struct Rows {
        let count: Int
        /// The rows that are not null; nil when all are.
        let present: [Int32]?
        private let isNull: [Bool]

        var presentCount: Int { present?.count ?? count }

        init(count: Int, hasNulls: Bool, from reader: inout ByteReader) throws(WireError) {
            self.count = count
            guard hasNulls else {
                present = nil
                isNull = []
                return
            }
            let bytes = try reader.slice((count + 7) / 8)
            var present: [Int32] = []
            var isNull: [Bool] = []
            isNull.reserveCapacity(count)
            BitPacking.unpack(bytes, count: count, width: 1) { row, bit in
                isNull.append(bit != 0)
                if bit == 0 { present.append(Int32(truncatingIfNeeded: row)) }
            }
            self.present = present.count == count ? nil : present
            self.isNull = present.count == count ? [] : isNull
        }

        func column(_ content: ValueColumn.Content) -> ValueColumn {
            ValueColumn(count: count, content, isNull: isNull)
        }

        /// Puts the values of the rows that are not null at their rows, and `filler` at the others.
        @inline(__always)
        func spread<Element>(_ values: [Element], _ filler: Element) -> [Element] {
            guard let present else { return values }
            var spread = [Element](repeating: filler, count: count)
            for (index, row) in present.enumerated() { spread[Int(row)] = values[index] }
            return spread
        }
    }
}
