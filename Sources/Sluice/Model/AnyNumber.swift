public import SluiceModel

/// The type of calculated columns, which all types of numbers compare with. It has no values.
public enum AnyNumber: PropertyElement, Comparable {
    public static var propertyType: PropertyType { .scalar(.double) }

    public var propertyValue: Value { switch self {} }

    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> AnyNumber? { nil }
}
