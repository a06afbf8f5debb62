internal import FoundationEssentials
package import SluiceModel
internal import SluiceQuery

/// A value for a parameter of a statement, or one read from a column.
package enum SQLBinding: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

extension SQLBinding {
    /// The binding by which ``TableLayout`` stores a scalar; nil for collections, and for links, whose row ids only the
    /// storage knows.
    package init?(_ value: Value) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .integer(value ? 1 : 0)
        case .int(let value): self = .integer(value)
        case .float(let value): self = value.isNaN ? .text(Self.notANumber) : .real(Double(value))
        case .double(let value): self = value.isNaN ? .text(Self.notANumber) : .real(value)
        case .string(let value): self = .text(value)
        case .data(let value): self = .blob(value)
        case .date(let value): self = .integer(value.microseconds)
        case .uuid(let value): self = .blob(value.bytes)
        case .objectID(let value): self = .blob(Self.bytes(of: value))
        case .decimal(let value): self = .blob(DecimalKey.encode(value))
        case .link, .list, .set, .map: return nil
        }
    }

    /// The scalar of the given type that ``init(_:)`` made this of; nil if there is none.
    package func value(of type: ScalarType) -> Value? {
        switch (type, self) {
        case (_, .null): .null
        case (.bool, .integer(let value)): .bool(value != 0)
        case (.int, .integer(let value)): .int(value)
        case (.date, .integer(let value)): .date(Timestamp(microseconds: value))
        case (.float, .real(let value)): .float(Float(value))
        case (.double, .real(let value)): .double(value)
        // The column held integers before its property became floating-point.
        case (.float, .integer(let value)): .float(Float(value))
        case (.double, .integer(let value)): .double(Double(value))
        case (.float, .text): .float(.nan)
        case (.double, .text): .double(.nan)
        case (.string, .text(let value)): .string(value)
        case (.data, .blob(let value)): .data(value)
        case (.uuid, .blob(let value)): UUID(bytes: value).map { .uuid($0) }
        case (.objectID, .blob(let value)): Self.objectID(of: value).map { .objectID($0) }
        case (.decimal, .blob(let value)): DecimalKey.decode(value).map { .decimal($0) }
        default: nil
        }
    }

    /// The text that stands for NaN: SQLite would bind the number itself as NULL, and text sorts after every number.
    package static let notANumber = "nan"

    /// The 16 bytes of an object id, big-endian.
    package static func bytes(of id: ObjectID) -> [UInt8] {
        [id.high, id.low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - $0 * 8)) } }
    }

    private static func objectID(of bytes: [UInt8]) -> ObjectID? {
        guard bytes.count == 16 else { return nil }
        func word(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
        return ObjectID(high: word(0..<8), low: word(8..<16))
    }
}

/// SQL with the values of its parameters, which are all written `?`.
package struct SQLStatement: Hashable, Sendable {
    package var text: String
    package var bindings: [SQLBinding]

    package init(_ text: String, _ bindings: [SQLBinding] = []) {
        self.text = text
        self.bindings = bindings
    }
}
