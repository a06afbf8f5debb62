internal import FoundationEssentials
internal import SluiceModel

/// The binary form of many values of one property.
enum WireColumn {
    /// Appends the values.
    ///
    /// - Parameter isNested: whether they are elements of another column's collections.
    static func encode(_ column: ColumnCells, isNested: Bool = false, into writer: inout ByteWriter) {
        var kind = ColumnKind.null
        var nullCount = 0
        for index in 0..<column.count {
            let own = ColumnKind(column[index])
            if own == .null {
                nullCount += 1
            } else if kind == .null {
                kind = own
            } else if kind != own {
                kind = .mixed
                break
            }
        }
        if kind == .mixed || isNested && kind.isCollection {
            writer.byte(ColumnKind.mixed.rawValue)
            for index in 0..<column.count { column[index].encode(into: &writer) }
            return
        }
        let hasNulls = kind != .null && nullCount > 0
        writer.byte(kind.rawValue | (hasNulls ? ColumnKind.nullsFlag : 0))
        guard kind != .null else { return }
        if hasNulls {
            BitPacking.pack(count: column.count, width: 1, into: &writer) { column[$0].isNull ? 1 : 0 }
        }
        encode(column, kind: kind, count: column.count - nullCount, into: &writer)
    }

    /// Appends a column in the form in which it came, as the same bytes.
    static func encode(_ column: ValueColumn, into writer: inout ByteWriter) {
        if case .values(let values) = column.content {
            return values.withUnsafeBufferPointer {
                encode(ColumnCells($0, first: 0, stride: 1, count: column.count), into: &writer)
            }
        }
        let nullCount = column.isNull.reduce(0) { $0 + ($1 ? 1 : 0) }
        guard nullCount < column.count else { return writer.byte(ColumnKind.null.rawValue) }
        let kind = ColumnKind(column)
        writer.byte(kind.rawValue | (nullCount > 0 ? ColumnKind.nullsFlag : 0))
        if nullCount > 0 {
            BitPacking.pack(count: column.count, width: 1, into: &writer) { column.isNull[$0] ? 1 : 0 }
        }
        func present<Element>(_ elements: [Element]) -> [Element] {
            guard nullCount > 0 else { return elements }
            var present: [Element] = []
            present.reserveCapacity(column.count - nullCount)
            for row in 0..<column.count where !column.isNull[row] { present.append(elements[row]) }
            return present
        }
        switch column.content {
        case .null, .key, .values: break
        case .integers(_, let numbers): IntegerSequence.encode(present(numbers), into: &writer)
        case .floats(let numbers), .doubles(let numbers):
            FloatingColumn.encode(present(numbers), isSingle: kind == .float, into: &writer)
        case .texts(_, let texts):
            ByteColumn(texts, count: column.count, isNull: nullCount == 0 ? [] : column.isNull).encode(into: &writer)
        }
    }

    private static func encode(_ column: ColumnCells, kind: ColumnKind, count: Int, into writer: inout ByteWriter) {
        switch kind {
        case .null, .key, .mixed: break
        case .bool, .int, .date, .linkInt:
            IntegerSequence.encode(column.gather(count, integer), into: &writer)
        case .float, .double:
            FloatingColumn.encode(column.gather(count, floating), isSingle: kind == .float, into: &writer)
        case .string, .data, .decimal, .linkString:
            var bytes = ByteColumn(capacity: count)
            for index in 0..<column.count {
                switch column[index] {
                case .string(let text), .link(.string(let text)): bytes.append(text)
                case .data(let data): bytes.append(data)
                case .decimal(let decimal): bytes.append(DecimalText.text(of: decimal))
                default: break
                }
            }
            bytes.encode(into: &writer)
        case .uuid, .objectID, .linkID, .linkUUID:
            IdentifierColumn.encode(column.gather(count, identifier), into: &writer)
        case .list, .set, .map: encodeCollections(column, kind: kind, count: count, into: &writer)
        }
    }

    /// The counts of elements, for maps the keys, then all elements as a column of their own.
    private static func encodeCollections(
        _ column: ColumnCells, kind: ColumnKind, count: Int, into writer: inout ByteWriter
    ) {
        var counts: [Int64] = []
        counts.reserveCapacity(count)
        var keys = ByteColumn(capacity: 0)
        var elements: [Value] = []
        for index in 0..<column.count {
            switch column[index] {
            case .list(let values), .set(let values):
                counts.append(Int64(values.count))
                elements.append(contentsOf: values)
            case .map(let map):
                counts.append(Int64(map.entries.count))
                for entry in map.entries {
                    keys.append(entry.key)
                    elements.append(entry.value)
                }
            default: break
            }
        }
        IntegerSequence.encode(counts, into: &writer)
        if kind == .map { keys.encode(into: &writer) }
        elements.withUnsafeBufferPointer {
            encode(ColumnCells($0, first: 0, stride: 1, count: $0.count), isNested: true, into: &writer)
        }
    }

    @inline(__always)
    private static func integer(_ value: Value) -> Int64? {
        switch value {
        case .int(let value), .link(.int(let value)): value
        case .date(let value): value.microseconds
        case .bool(let value): value ? 1 : 0
        default: nil
        }
    }

    @inline(__always)
    private static func floating(_ value: Value) -> Double? {
        switch value {
        case .double(let value): value
        case .float(let value): Double(value)
        default: nil
        }
    }

    @inline(__always)
    private static func identifier(_ value: Value) -> ObjectID? {
        switch value {
        case .objectID(let id), .link(.id(let id)): id
        case .uuid(let uuid), .link(.uuid(let uuid)): ObjectID(uuid)
        default: nil
        }
    }
}

/// One column of cells that lie row after row.
struct ColumnCells {
    private let base: UnsafePointer<Value>?
    private let stride: Int
    let count: Int

    init(_ cells: UnsafeBufferPointer<Value>, first: Int, stride: Int, count: Int) {
        base = count == 0 ? nil : cells.baseAddress.map { $0 + first }
        self.stride = stride
        self.count = base == nil ? 0 : count
    }

    @inline(__always)
    subscript(index: Int) -> Value {
        guard let base else { return .null }
        return base[index * stride]
    }

    /// What `part` takes out of each cell, where it takes something.
    @inline(__always)
    func gather<Part>(_ capacity: Int, _ part: (Value) -> Part?) -> [Part] {
        var parts: [Part] = []
        parts.reserveCapacity(capacity)
        for index in 0..<count {
            if let value = part(self[index]) { parts.append(value) }
        }
        return parts
    }
}

extension ObjectID {
    /// The bits of a UUID, its first byte uppermost.
    init(_ uuid: UUID) {
        let words = withUnsafeBytes(of: uuid.uuid) {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
        self.init(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1))
    }

    /// The UUID of the same bits.
    var uuid: UUID {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
