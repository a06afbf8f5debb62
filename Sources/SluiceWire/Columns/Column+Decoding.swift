internal import FoundationEssentials
internal import SluiceModel

extension Column {
    /// Where a column's values go: one of every `stride` cells, all null before.
    struct Target {
        let base: UnsafeMutablePointer<Value>
        let stride: Int
        let count: Int

        @inline(__always)
        subscript(row: Int) -> Value {
            get { base[row * stride] }
            nonmutating set { base[row * stride] = newValue }
        }
    }

    /// Reads a column of `target.count` values, at least one.
    ///
    /// - Parameter keys: the rows' keys, for a column that repeats them; empty where there are none.
    static func decode(
        into target: Target, keys: [ObjectKey] = [], isNested: Bool = false, from reader: inout ByteReader
    ) throws(WireError) {
        let header = try reader.byte()
        let hasNulls = header & ColumnKind.nullsFlag != 0
        guard let kind = ColumnKind(rawValue: header & ~ColumnKind.nullsFlag) else {
            throw reader.malformed("\(header) is no kind of column")
        }
        guard !hasNulls || kind.canHaveNulls else {
            throw reader.malformed("a column of the kind \(kind.rawValue) that marks nulls")
        }
        switch kind {
        case .null: break
        case .mixed:
            for row in 0..<target.count { target[row] = try Value(from: &reader) }
        case .key:
            guard keys.count == target.count else { throw reader.malformed("a column of keys where there are none") }
            for row in 0..<target.count { target[row] = keys[row].value }
        default:
            if isNested, kind.isCollection {
                throw reader.malformed("a column of collections within collections")
            }
            let rows = try Rows(count: target.count, hasNulls: hasNulls, from: &reader)
            try decode(kind, rows: rows, into: target, from: &reader)
        }
    }

    private static func decode(
        _ kind: ColumnKind, rows: Rows, into target: Target, from reader: inout ByteReader
    ) throws(WireError) {
        switch kind {
        case .bool:
            let values = try integers(rows, from: &reader)
            guard values.allSatisfy({ $0 == 0 || $0 == 1 }) else { throw reader.malformed("a truth value above 1") }
            rows.scatter(into: target) { .bool(values[$0] == 1) }
        case .int:
            let values = try integers(rows, from: &reader)
            rows.scatter(into: target) { .int(values[$0]) }
        case .date:
            let values = try integers(rows, from: &reader)
            rows.scatter(into: target) { .date(Timestamp(microseconds: values[$0])) }
        case .linkInt:
            let values = try integers(rows, from: &reader)
            rows.scatter(into: target) { .link(.int(values[$0])) }
        case .float:
            let values = try FloatingColumn.decode(count: rows.count, isSingle: true, from: &reader)
            rows.scatter(into: target) { .float(Float(values[$0])) }
        case .double:
            let values = try FloatingColumn.decode(count: rows.count, isSingle: false, from: &reader)
            rows.scatter(into: target) { .double(values[$0]) }
        case .string: try texts(rows, into: target, from: &reader) { .string($0) }
        case .linkString: try texts(rows, into: target, from: &reader) { .link(.string($0)) }
        case .data:
            try bytes(rows, into: target, from: &reader) { (reader, count) throws(WireError) in
                .data(try reader.raw(count))
            }
        case .decimal:
            try bytes(rows, into: target, from: &reader) { (reader, count) throws(WireError) in
                .decimal(try reader.decimal(count))
            }
        case .uuid: try identifiers(rows, into: target, from: &reader) { .uuid($0.uuid) }
        case .objectID: try identifiers(rows, into: target, from: &reader) { .objectID($0) }
        case .linkID: try identifiers(rows, into: target, from: &reader) { .link(.id($0)) }
        case .linkUUID: try identifiers(rows, into: target, from: &reader) { .link(.uuid($0.uuid)) }
        case .list, .set, .map: try collections(kind, rows, into: target, from: &reader)
        case .null, .key, .mixed: break
        }
    }

    private static func integers(_ rows: Rows, from reader: inout ByteReader) throws(WireError) -> [Int64] {
        try IntegerSequence.decode(count: rows.count, from: &reader)
    }

    @inline(__always)
    private static func texts(
        _ rows: Rows, into target: Target, from reader: inout ByteReader, _ value: (String) -> Value
    ) throws(WireError) {
        try bytes(rows, into: target, from: &reader) { (reader, count) throws(WireError) in
            value(try reader.text(count))
        }
    }

    @inline(__always)
    private static func bytes(
        _ rows: Rows, into target: Target, from reader: inout ByteReader,
        _ value: (inout ByteReader, Int) throws(WireError) -> Value
    ) throws(WireError) {
        try ByteColumn.decode(count: rows.count, from: &reader, make: value) { target[rows.row(of: $0)] = $1 }
    }

    @inline(__always)
    private static func identifiers(
        _ rows: Rows, into target: Target, from reader: inout ByteReader, _ value: (ObjectID) -> Value
    ) throws(WireError) {
        let ids = try IdentifierColumn.decode(count: rows.count, from: &reader)
        rows.scatter(into: target) { value(ids[$0]) }
    }

    private static func collections(
        _ kind: ColumnKind, _ rows: Rows, into target: Target, from reader: inout ByteReader
    ) throws(WireError) {
        let counts = try IntegerSequence.decode(count: rows.count, from: &reader)
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
        let elements = try decode(count: total, from: &reader)
        var next = 0
        for (index, count) in counts.enumerated() {
            let part = elements[next..<next + Int(count)]
            switch kind {
            case .set: target[rows.row(of: index)] = Value(setOf: Array(part))
            case .map:
                var map = ValueMap()
                for index in part.indices { try map.append(keys[index], elements[index], reader) }
                target[rows.row(of: index)] = .map(map)
            default: target[rows.row(of: index)] = .list(Array(part))
            }
            next += Int(count)
        }
    }

    /// Reads the elements of a column's collections, or a column of its own; the caller has taken them off the budget.
    static func decode(count: Int, isNested: Bool = true, from reader: inout ByteReader) throws(WireError) -> [Value] {
        var values = [Value](repeating: .null, count: count)
        try values.withUnsafeMutableBufferPointer { buffer throws(WireError) in
            guard let base = buffer.baseAddress else {
                guard try reader.byte() == ColumnKind.null.rawValue else {
                    throw reader.malformed("an empty column that says more than that")
                }
                return
            }
            try decode(into: Target(base: base, stride: 1, count: count), isNested: isNested, from: &reader)
        }
        return values
    }

    /// Which rows of a column are not null.
    private struct Rows {
        /// How many are not null.
        let count: Int
        /// Those rows; nil when all are.
        private let present: [Int32]?

        init(count: Int, hasNulls: Bool, from reader: inout ByteReader) throws(WireError) {
            guard hasNulls else {
                self.count = count
                present = nil
                return
            }
            let bytes = try reader.slice((count + 7) / 8)
            var present: [Int32] = []
            BitPacking.unpack(bytes, count: count, width: 1) { row, isNull in
                if isNull == 0 { present.append(Int32(truncatingIfNeeded: row)) }
            }
            self.count = present.count
            self.present = present
        }

        @inline(__always)
        func row(of index: Int) -> Int {
            guard let present else { return index }
            return Int(present[index])
        }

        @inline(__always)
        func scatter(into target: Target, _ value: (Int) -> Value) {
            if let present {
                for (index, row) in present.enumerated() { target[Int(row)] = value(index) }
            } else {
                for row in 0..<count { target[row] = value(row) }
            }
        }
    }
}
