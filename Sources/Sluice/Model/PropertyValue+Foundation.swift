public import FoundationEssentials
public import SluiceModel

extension Data: PropertyElement {
    public static var propertyType: PropertyType { .scalar(.data) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .data(Array(self)) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Data? {
        if case .data(let value) = value { Data(value) } else { nil }
    }
}

/// Dates are stored to the microsecond.
extension Date: PropertyElement {
    public static var propertyType: PropertyType { .scalar(.date) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .date(Timestamp(self)) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Date? {
        if case .date(let value) = value { value.date } else { nil }
    }
}

extension Timestamp: PropertyElement {
    public static var propertyType: PropertyType { .scalar(.date) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .date(self) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Timestamp? {
        if case .date(let value) = value { value } else { nil }
    }
}

extension UUID: PrimaryKeyValue {
    public static var propertyType: PropertyType { .scalar(.uuid) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .uuid(self) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> UUID? {
        if case .uuid(let value) = value { value } else { nil }
    }

    public init?(objectKey: ObjectKey) {
        guard case .uuid(let key) = objectKey else { return nil }
        self = key
    }
}

extension Decimal: PropertyElement {
    public typealias Comparand = AnyNumber

    public static var propertyType: PropertyType { .scalar(.decimal) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .decimal(self) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Decimal? {
        if case .decimal(let value) = value { value } else { nil }
    }
}
