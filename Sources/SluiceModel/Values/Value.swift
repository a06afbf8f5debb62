public import FoundationEssentials

/// The value of a property of any type. Records hold values, operations carry them and queries compare them.
///
/// Two values are equal if they are the same data: strings by their UTF-8 bytes, floating-point numbers by their bits,
/// except that all NaNs are equal and -0 equals 0. The rules of queries (NaN equals nothing, numbers compare across
/// types) are those of the query's evaluator, not of this type.
public enum Value: Sendable {
    /// No value, in an optional property.
    case null
    /// A truth value.
    case bool(Bool)
    /// An integer of any width, in 64 signed bits.
    case int(Int64)
    /// A 32-bit floating-point number.
    case float(Float)
    /// A 64-bit floating-point number.
    case double(Double)
    /// Text, kept byte for byte in UTF-8; it is not normalised.
    case string(String)
    /// Bytes.
    case data([UInt8])
    /// A point in time, to the microsecond.
    case date(Timestamp)
    /// A UUID.
    case uuid(UUID)
    /// An object id, as a value.
    case objectID(ObjectID)
    /// A decimal number, kept exactly.
    indirect case decimal(Decimal)
    /// A reference to another object by its key; the property's type names the class.
    case link(ObjectKey)
    /// Elements in order; they may repeat.
    case list([Value])
    /// Distinct elements in ascending order, see ``Value/set(of:)``.
    case set([Value])
    /// Values under string keys.
    case map(ValueMap)
}

extension Value {
    /// Makes a set of the given elements: sorts them and removes duplicates. O(n log n).
    public static func set(of elements: some Sequence<Value>) -> Value {
        var sorted: [Value] = []
        for element in elements.sorted() where sorted.last != element { sorted.append(element) }
        return .set(sorted)
    }

    /// Whether this is null.
    @inlinable
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }
}

extension Value: Hashable {
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.int(let left), .int(let right)): left == right
        case (.float(let left), .float(let right)): left == right || left.isNaN && right.isNaN
        case (.double(let left), .double(let right)): left == right || left.isNaN && right.isNaN
        case (.string(let left), .string(let right)): UTF8Order.equal(left, right)
        case (.data(let left), .data(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.uuid(let left), .uuid(let right)): left == right
        case (.objectID(let left), .objectID(let right)): left == right
        case (.decimal(let left), .decimal(let right)): left == right
        case (.link(let left), .link(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        case (.set(let left), .set(let right)): left == right
        case (.map(let left), .map(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(rank)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .int(let value): hasher.combine(value)
        case .float(let value): hasher.combine(value.isNaN ? .nan : value)
        case .double(let value): hasher.combine(value.isNaN ? .nan : value)
        case .string(let value): UTF8Order.hash(value, into: &hasher)
        case .data(let value): hasher.combine(value)
        case .date(let value): hasher.combine(value)
        case .uuid(let value): hasher.combine(value)
        case .objectID(let value): hasher.combine(value)
        case .decimal(let value): hasher.combine(value)
        case .link(let value): hasher.combine(value)
        case .list(let value), .set(let value): hasher.combine(value)
        case .map(let value): hasher.combine(value)
        }
    }
}

extension Value: Comparable {
    /// The total order for sorting: null first, then by type; values of one type by size, with NaN after every number.
    public static func < (left: Value, right: Value) -> Bool { compare(left, right) < 0 }

    /// Compares two values; the result is negative, zero or positive, and zero only for equal values.
    public static func compare(_ left: Value, _ right: Value) -> Int {
        switch (left, right) {
        case (.int(let left), .int(let right)): left < right ? -1 : left == right ? 0 : 1
        case (.string(let left), .string(let right)): UTF8Order.compare(left, right)
        case (.double(let left), .double(let right)): compareFloating(left, right)
        case (.float(let left), .float(let right)): compareFloating(left, right)
        case (.bool(let left), .bool(let right)): (left ? 1 : 0) - (right ? 1 : 0)
        case (.date(let left), .date(let right)): left < right ? -1 : left == right ? 0 : 1
        case (.data(let left), .data(let right)): compareBytes(left, right)
        case (.uuid(let left), .uuid(let right)): UUID.compare(left, right)
        case (.objectID(let left), .objectID(let right)): left < right ? -1 : left == right ? 0 : 1
        case (.decimal(let left), .decimal(let right)): compareDecimals(left, right)
        case (.link(let left), .link(let right)): left < right ? -1 : left == right ? 0 : 1
        case (.list(let left), .list(let right)), (.set(let left), .set(let right)): compareElements(left, right)
        case (.map(let left), .map(let right)): ValueMap.compare(left, right)
        default: left.rank - right.rank
        }
    }

    /// The position of the value's type in the total order.
    package var rank: Int {
        switch self {
        case .null: 0
        case .bool: 1
        case .int: 2
        case .float: 3
        case .double: 4
        case .decimal: 5
        case .string: 6
        case .data: 7
        case .date: 8
        case .uuid: 9
        case .objectID: 10
        case .link: 11
        case .list: 12
        case .set: 13
        case .map: 14
        }
    }

    private static func compareFloating<Number: BinaryFloatingPoint>(_ left: Number, _ right: Number) -> Int {
        if left < right { return -1 }
        if left == right { return 0 }
        if left > right { return 1 }
        return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0)
    }

    private static func compareDecimals(_ left: Decimal, _ right: Decimal) -> Int {
        if left.isNaN || right.isNaN { return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0) }
        return left < right ? -1 : left == right ? 0 : 1
    }

    private static func compareBytes(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.withUnsafeBufferPointer { left in
            right.withUnsafeBufferPointer { right in UTF8Order.compareBytes(left, right) }
        }
    }

    private static func compareElements(_ left: [Value], _ right: [Value]) -> Int {
        for (left, right) in zip(left, right) {
            let order = compare(left, right)
            if order != 0 { return order }
        }
        return left.count - right.count
    }
}
