public import SluiceModel

extension Optional: PropertyValue where Wrapped: PropertyElement {
    public typealias Comparand = Wrapped.Comparand

    public static var propertyType: PropertyType {
        var type = Wrapped.propertyType
        type.isOptional = true
        return type
    }

    @inlinable
    public static var decodesEveryValue: Bool { Wrapped.decodesEveryValue }

    @inlinable
    public static var tracksExclusion: Bool { Wrapped.tracksExclusion }

    @inlinable
    public var propertyValue: Value { self?.propertyValue ?? .null }

    @inlinable
    public var presence: PropertyPresence { self?.presence ?? .present }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Wrapped?? {
        if value.isNull { return .some(nil) }
        guard let wrapped = Wrapped.decode(value, from: row) else { return nil }
        return .some(wrapped)
    }

    @inlinable
    public static func excluded(_ property: ExcludedProperty) -> Wrapped?? {
        guard let wrapped = Wrapped.excluded(property) else { return nil }
        return .some(wrapped)
    }
}

extension Optional: PropertyElement where Wrapped: PropertyElement {}

extension Array: PropertyValue where Element: PropertyElement {
    public static var propertyType: PropertyType { .collection(.list, of: Element.propertyType) }

    @inlinable
    public static var decodesEveryValue: Bool { Element.decodesEveryValue }

    public var propertyValue: Value { .list(map(\.propertyValue)) }

    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> [Element]? {
        guard case .list(let values) = value else { return nil }
        return elements(of: values, from: row)
    }

    @usableFromInline
    static func elements(of values: [Value], from row: borrowing RowDecoder) -> [Element]? {
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for value in values {
            guard let element = Element.decode(value, from: row) else { return nil }
            elements.append(element)
        }
        return elements
    }
}

/// Swift's sets and dictionaries compare strings by canonical equivalence: of two stored strings that differ in bytes
/// alone, a `Set<String>` or a `[String: T]` holds one. A `Record` keeps both.
extension Set: PropertyValue where Element: PropertyElement {
    public static var propertyType: PropertyType { .collection(.set, of: Element.propertyType) }

    @inlinable
    public static var decodesEveryValue: Bool { Element.decodesEveryValue }

    public var propertyValue: Value { .set(of: lazy.map(\.propertyValue)) }

    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Set<Element>? {
        guard case .set(let values) = value else { return nil }
        return Array.elements(of: values, from: row).map(Set.init)
    }
}

extension Dictionary: PropertyValue where Key == String, Value: PropertyElement {
    public static var propertyType: PropertyType { .collection(.map, of: Value.propertyType) }

    @inlinable
    public static var decodesEveryValue: Bool { Value.decodesEveryValue }

    public var propertyValue: SluiceModel.Value {
        .map(ValueMap(lazy.map { (key: $0.key, value: $0.value.propertyValue) }))
    }

    public static func decode(
        _ value: SluiceModel.Value, from row: borrowing RowDecoder
    ) -> [String: Value]? {
        guard case .map(let map) = value else { return nil }
        var decoded: [String: Value] = [:]
        decoded.reserveCapacity(map.entries.count)
        for entry in map.entries {
            guard let value = Value.decode(entry.value, from: row) else { return nil }
            decoded[entry.key] = value
        }
        return decoded
    }
}

extension PropertyType {
    /// A collection whose elements are of a single type.
    static func collection(_ container: Container, of type: PropertyType) -> PropertyType {
        PropertyType(type.element, container: container, isOptional: type.isOptional && !type.element.isLink)
    }
}
