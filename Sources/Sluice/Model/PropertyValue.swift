public import SluiceModel

/// A Swift type that a model's property can have.
///
/// Scalars, ``Link``, ``Links`` and optionals, arrays, sets and string-keyed dictionaries of them conform. An enum with
/// a string or integer raw value conforms to ``PropertyElement`` and needs no more than that.
public protocol PropertyValue: Sendable {
    /// What its values compare with in a typed query: values of every type that has the same. ``AnyNumber`` for all
    /// numbers, what it wraps for an optional, else the type itself.
    associatedtype Comparand = Self

    /// The type that the schema records.
    static var propertyType: PropertyType { get }
    /// Whether the type itself says that its contents were excluded, as links do.
    static var tracksExclusion: Bool { get }
    /// Whether ``decode(_:from:)`` finds a value for each that ``propertyType`` allows, as for `String`, and not for an
    /// enum. Where every property of a model does, its objects need not be looked at to know that they can be read.
    static var decodesEveryValue: Bool { get }

    /// The value as the store holds it.
    var propertyValue: Value { get }
    /// Whether the value can be stored.
    var presence: PropertyPresence { get }

    /// The Swift value of a stored one; nil when this type cannot hold it.
    static func decode(_ value: Value, from row: borrowing RowDecoder) -> Self?
    /// What stands for a property that a query excluded; nil leaves it to the property's default.
    static func excluded(_ property: ExcludedProperty) -> Self?
}

/// A property type that collections and optionals can hold. An enum with a raw value declares this one conformance:
///
/// ```swift
/// enum Status: String, PropertyElement { case scheduled, departed, cancelled }
/// ```
///
/// It is then the type of a property, of elements and map values, optional or not, and compares with its cases:
/// `$0.status == .departed`. The store holds raw values. One that the enum does not have, since a newer program wrote
/// it, makes that object unreadable, with a ``ModelError`` that names object, property and value; the others are read.
public protocol PropertyElement: PropertyValue {}

/// A property type that can be a primary key. Its ``PropertyValue/propertyType`` is `int`, `string` or `uuid`.
public protocol PrimaryKeyValue: PropertyElement {
    /// The value that a key was made of; nil when it was made of another type.
    init?(objectKey: ObjectKey)
}

extension PrimaryKeyValue where Self: RawRepresentable, RawValue: PrimaryKeyValue {
    public init?(objectKey: ObjectKey) {
        guard let value = RawValue(objectKey: objectKey) else { return nil }
        self.init(rawValue: value)
    }
}

/// Whether a property's value can be stored.
public enum PropertyPresence: Sendable, Equatable {
    /// An ordinary value.
    case present
    /// The value stands for one that is not here; writing leaves the property alone.
    case excluded
    /// The value cannot be stored, for the reason given.
    case invalid(ModelError)
}

extension PropertyValue {
    @inlinable
    public static var tracksExclusion: Bool { false }

    @inlinable
    public static var decodesEveryValue: Bool { false }

    @inlinable
    public var presence: PropertyPresence { .present }

    @inlinable
    public static func excluded(_ property: ExcludedProperty) -> Self? { nil }
}

extension PropertyElement where Self: RawRepresentable, RawValue: PropertyElement {
    public static var propertyType: PropertyType { RawValue.propertyType }

    @inlinable
    public var propertyValue: Value { rawValue.propertyValue }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Self? {
        RawValue.decode(value, from: row).flatMap { Self(rawValue: $0) }
    }
}
