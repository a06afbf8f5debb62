public import SluiceModel

extension Bool: PropertyElement {
    public static var propertyType: PropertyType { .scalar(.bool) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .bool(self) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Bool? {
        if case .bool(let value) = value { value } else { nil }
    }
}

/// Integers are stored in 64 signed bits; reading one that a narrower type cannot hold fails.
extension PropertyElement where Self: FixedWidthInteger {
    public static var propertyType: PropertyType { .scalar(.int) }

    @inlinable
    public static var decodesEveryValue: Bool { Self.min <= Int64.min && Self.max >= Int64.max }

    @inlinable
    public var propertyValue: Value { .int(Int64(self)) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Self? {
        if case .int(let value) = value { Self(exactly: value) } else { nil }
    }
}

extension PrimaryKeyValue where Self: FixedWidthInteger {
    public init?(objectKey: ObjectKey) {
        guard case .int(let key) = objectKey else { return nil }
        self.init(exactly: key)
    }
}

extension Int: PrimaryKeyValue { public typealias Comparand = AnyNumber }
extension Int64: PrimaryKeyValue { public typealias Comparand = AnyNumber }
extension Int8: PrimaryKeyValue { public typealias Comparand = AnyNumber }
extension Int16: PrimaryKeyValue { public typealias Comparand = AnyNumber }
extension Int32: PrimaryKeyValue { public typealias Comparand = AnyNumber }
extension UInt8: PrimaryKeyValue { public typealias Comparand = AnyNumber }
extension UInt16: PrimaryKeyValue { public typealias Comparand = AnyNumber }
extension UInt32: PrimaryKeyValue { public typealias Comparand = AnyNumber }

extension Float: PropertyElement {
    public typealias Comparand = AnyNumber

    public static var propertyType: PropertyType { .scalar(.float) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .float(self) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Float? {
        if case .float(let value) = value { value } else { nil }
    }
}

extension Double: PropertyElement {
    public typealias Comparand = AnyNumber

    public static var propertyType: PropertyType { .scalar(.double) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .double(self) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Double? {
        if case .double(let value) = value { value } else { nil }
    }
}

extension String: PrimaryKeyValue {
    public static var propertyType: PropertyType { .scalar(.string) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .string(self) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> String? {
        if case .string(let value) = value { value } else { nil }
    }

    public init?(objectKey: ObjectKey) {
        guard case .string(let key) = objectKey else { return nil }
        self = key
    }
}

extension ObjectID: PropertyElement {
    public static var propertyType: PropertyType { .scalar(.objectID) }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    @inlinable
    public var propertyValue: Value { .objectID(self) }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> ObjectID? {
        if case .objectID(let value) = value { value } else { nil }
    }
}
