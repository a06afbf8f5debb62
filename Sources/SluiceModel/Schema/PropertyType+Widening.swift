internal import FoundationEssentials

/// Which types become which, and what becomes of values: the part of docs/evolution.md that concerns types.
extension PropertyType {
    /// The integers that a double holds exactly, with all those between them: up to 2^53 in size.
    package static let exactIntegers: ClosedRange<Int64> = -(1 << 53)...(1 << 53)

    /// The narrowest type that has room for the values of both; nil if there is none.
    ///
    /// Null has room in an optional, `int` and `float` in `double`, `int` in `decimal`. Nothing else becomes something
    /// else.
    package func joined(with other: PropertyType) -> PropertyType? {
        guard container == other.container else { return nil }
        guard let element = Self.joined(element, other.element) ?? Self.joined(other.element, element) else {
            return nil
        }
        return PropertyType(element, container: container, isOptional: isOptional || other.isOptional)
    }

    /// The second type if it has room for the values of the first.
    private static func joined(_ narrow: Element, _ wide: Element) -> Element? {
        switch (narrow, wide) {
        case (.scalar(.int), .scalar(.double)), (.scalar(.float), .scalar(.double)), (.scalar(.int), .scalar(.decimal)):
            wide
        default: narrow == wide ? wide : nil
        }
    }

    /// A value as this type holds it, where that is exactly the same; nil where it is not.
    package func fitting(_ value: Value) -> Value? {
        if accepts(value) { return value }
        return converted(value) { type, element in
            switch (type, element) {
            case (.double, .int(let number)): Self.exactIntegers.contains(number) ? .double(Double(number)) : nil
            case (.double, .float(let number)): .double(Double(number))
            case (.decimal, .int(let number)): .decimal(Decimal(number))
            default: nil
            }
        }
    }

    /// A value as this type holds it, an integer beyond 2^53 as the nearest double; nil where that makes no sense.
    ///
    /// For what only remembers a value that was, when the schema has changed since.
    package func nearest(_ value: Value) -> Value? {
        if let exact = fitting(value) { return exact }
        return converted(value) { type, element in
            if case (.double, .int(let number)) = (type, element) { return .double(Double(number)) }
            return PropertyType(.scalar(type)).fitting(element)
        }
    }

    /// A value of a wider type as this one holds it, where that is exactly the same; nil where it is not.
    package func narrowing(_ value: Value) -> Value? {
        if accepts(value) { return value }
        return converted(value) { type, element in
            switch (type, element) {
            case (.int, .double(let number)): Int64(exactly: number).map { .int($0) }
            case (.int, .decimal(let number)): Int64(number.description).map { .int($0) }
            case (.float, .double(let number)):
                number.isNaN ? .float(.nan) : Float(exactly: number).map { .float($0) }
            default: nil
            }
        }
    }

    private func converted(_ value: Value, _ convert: (ScalarType, Value) -> Value?) -> Value? {
        guard case .scalar(let type) = element else { return nil }
        func all(_ elements: [Value]) -> [Value]? {
            var converted: [Value] = []
            converted.reserveCapacity(elements.count)
            for element in elements {
                guard let new = acceptsElement(element) ? element : convert(type, element) else { return nil }
                converted.append(new)
            }
            return converted
        }
        switch (container, value) {
        case (.single, _): return convert(type, value)
        case (.list, .list(let elements)): return all(elements).map { .list($0) }
        case (.set, .set(let elements)): return all(elements).map { .set($0) }
        case (.map, .map(let map)):
            guard let values = all(map.entries.map(\.value)) else { return nil }
            var result = ValueMap()
            for (entry, value) in zip(map.entries, values) { result[entry.key] = value }
            return .map(result)
        default: return nil
        }
    }
}
