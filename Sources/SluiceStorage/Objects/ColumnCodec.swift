internal import FoundationEssentials
internal import SluiceModel
internal import SluiceQuery

/// Binds and reads the elements of one property in the form that ``TableLayout`` defines. A link is stored as the local
/// row id of its target, which the caller translates.
enum ColumnCodec {
    case scalar(ScalarType)
    /// The class that the link leads to.
    case link(Int)

    init(_ element: PropertyType.Element, schema: Schema) {
        switch element {
        case .link(let name): self = .link(schema.index(of: name) ?? -1)
        case .scalar(let type): self = .scalar(type)
        }
    }

    /// How the values of a path are stored.
    init(_ type: Query.Path.ValueType) {
        switch type {
        case .link(let target): self = .link(target)
        case .scalar(let type): self = .scalar(type)
        }
    }

    /// Binds a scalar or null.
    ///
    /// - Returns: false if the value is not of this type.
    @inline(__always)
    func bind(_ value: Value, to index: Int32, of statement: some ParameterSink) -> Bool {
        switch (self, value) {
        case (_, .null): statement.bindNull(index)
        case (.scalar(.int), .int(let value)): statement.bind(index, value)
        case (.scalar(.string), .string(let value)): statement.bind(index, value)
        case (.scalar(.double), .double(let value)): Self.bind(value, to: index, of: statement)
        case (.scalar(.float), .float(let value)): Self.bind(Double(value), to: index, of: statement)
        case (.scalar(.bool), .bool(let value)): statement.bind(index, Int64(value ? 1 : 0))
        case (.scalar(.date), .date(let value)): statement.bind(index, value.microseconds)
        case (.scalar(.data), .data(let value)): statement.bind(index, value)
        case (.scalar(.uuid), .uuid(let value)): withUnsafeBytes(of: value.uuid) { statement.bindBytes(index, $0) }
        case (.scalar(.objectID), .objectID(let value)): statement.bind(index, value)
        case (.scalar(.decimal), .decimal(let value)): statement.bind(index, DecimalKey.encode(value))
        default: return false
        }
        return true
    }

    private static func bind(_ value: Double, to index: Int32, of statement: some ParameterSink) {
        if value.isNaN { statement.bind(index, SQLBinding.notANumber) } else { statement.bind(index, value) }
    }

    /// Reads a scalar or null; nil if the column holds something else. Never called for links.
    func read(_ column: Int32, of statement: Statement) -> Value? {
        let cell = statement.cell(column)
        if cell.isNull { return .null }
        switch self {
        case .scalar(.int): return .int(cell.int)
        case .scalar(.string): return .string(cell.string)
        case .scalar(.double): return .double(cell.isText ? .nan : cell.double)
        case .scalar(.float): return .float(cell.isText ? .nan : Float(cell.double))
        case .scalar(.bool): return .bool(cell.int != 0)
        case .scalar(.date): return .date(Timestamp(microseconds: cell.int))
        case .scalar(.data): return .data(statement.blob(column))
        case .scalar(.uuid): return UUID(bytes: statement.bytes(column)).map { .uuid($0) }
        case .scalar(.objectID): return statement.objectID(column).map { .objectID($0) }
        case .scalar(.decimal): return DecimalKey.decode(statement.blob(column)).map { .decimal($0) }
        case .link: return nil
        }
    }
}

extension Statement {
    /// Reads an id of 16 bytes; nil for any other length.
    func objectID(_ column: Int32) -> ObjectID? {
        let bytes = bytes(column)
        guard bytes.count == 16 else { return nil }
        return ObjectID(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// Binds compiled values, the first to parameter `index`.
    func bind(_ values: [SQLBinding], from index: Int32 = 1) {
        for (offset, value) in values.enumerated() {
            let index = index + Int32(offset)
            switch value {
            case .null: bindNull(index)
            case .integer(let value): bind(index, value)
            case .real(let value): bind(index, value)
            case .text(let value): bind(index, value)
            case .blob(let value): bind(index, value)
            }
        }
    }

    /// The set that ``bind(_:_:)`` wrote.
    func propertySet(_ column: Int32) -> PropertySet {
        if isNull(column) { return PropertySet() }
        let bytes = isBlob(column) ? blob(column) : []
        guard !bytes.isEmpty else { return PropertySet(words: [UInt64(bitPattern: int(column))]) }
        return PropertySet(
            words: stride(from: 0, to: bytes.count, by: 8).map { start in
                bytes[start..<min(start + 8, bytes.count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            })
    }
}

extension ParameterSink {
    /// Binds a set of absent properties: null for none, an integer for the first 63 positions, else the words of the
    /// set, little-endian.
    func bind(_ index: Int32, _ absent: PropertySet) {
        if absent.isEmpty { return bindNull(index) }
        let words = absent.words
        if words.count == 1, words[0] >> 63 == 0 {
            bind(index, Int64(words[0]))
        } else {
            bind(index, words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64($0 * 8)) } })
        }
    }
}
