public import SluiceQuery

/// A property that holds any number of elements.
public protocol PropertyCollection<ElementValue>: PropertyValue {
    associatedtype ElementValue: PropertyElement
}

extension Array: PropertyCollection where Element: PropertyElement {
    public typealias ElementValue = Element
}

extension Set: PropertyCollection where Element: PropertyElement {
    public typealias ElementValue = Element
}

extension Dictionary: PropertyCollection where Key == String, Value: PropertyElement {
    public typealias ElementValue = Value
}

extension Links: PropertyCollection {
    public typealias ElementValue = Link<Target>
}

extension Column where Value: PropertyCollection {
    /// An element: the condition holds when some element meets it.
    public var any: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.any)) }

    /// An element: the condition holds when every element meets it, and when there is none.
    public var all: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.all)) }

    /// An element: the condition holds when no element meets it.
    public var none: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.none)) }

    /// How many elements there are.
    public var count: Column<Int> { Column<Int>(columnPath.appending(.operation("count"))) }

    /// Some element has this value.
    public func contains(_ element: Value.ElementValue) -> PredicateSyntax { any.compared(.equal, element) }

    /// Some link leads to this object.
    public func contains<Target: Model>(_ target: Target) -> PredicateSyntax
    where Value.ElementValue == Link<Target> {
        any.compared(.equal, Link(target))
    }
}

extension Column {
    /// The value under a key of a map; null where the map lacks the key.
    public subscript<Entry: PropertyElement>(key: String) -> Column<Entry?> where Value == [String: Entry] {
        Column<Entry?>(columnPath.appending(.key(key)))
    }
}
