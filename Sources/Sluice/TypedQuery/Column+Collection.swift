internal import SluiceQuery

/// A property type with any number of elements.
public protocol PropertyCollection<ElementValue>: PropertyValue {
    /// The type of an element.
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
    /// Any element: a condition on it holds when at least one element meets it.
    public var any: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.any)) }

    /// All elements: a condition on them holds when every element meets it, and when there are none.
    public var all: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.all)) }

    /// No element: a condition on it holds when no element meets it.
    public var none: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.none)) }

    /// The number of elements.
    public var count: Column<Int> { Column<Int>(columnPath.appending(.operation("count"))) }

    /// A condition that holds when there is no element.
    public var isEmpty: Condition { count == 0 }

    /// A condition that holds when some element has this value.
    public func contains(_ element: Value.ElementValue) -> Condition { any.compared(.equal, element) }

    /// A condition that holds when some link leads to this object.
    public func contains<Target: Model>(_ target: Target) -> Condition
    where Value.ElementValue == Link<Target> {
        any.compared(.equal, Link(target))
    }
}

extension Column {
    /// The element at a position of a list, from 0; null beyond its end.
    public subscript<Element: PropertyElement>(index: Int) -> Column<Element?> where Value == [Element] {
        Column<Element?>(columnPath.appending(.index(index)))
    }

    /// The first element of a list; null if the list is empty.
    public func first<Element: PropertyElement>() -> Column<Element?> where Value == [Element] {
        Column<Element?>(columnPath.appending(.named("FIRST")))
    }

    /// The last element of a list; null if the list is empty.
    public func last<Element: PropertyElement>() -> Column<Element?> where Value == [Element] {
        Column<Element?>(columnPath.appending(.named("LAST")))
    }

    /// The object at a position of a list of links, from 0; null beyond its end.
    public subscript<Target: Model>(index: Int) -> Column<Link<Target>?> where Value == Links<Target> {
        Column<Link<Target>?>(columnPath.appending(.index(index)))
    }

    /// The first object of a list of links; null if the list is empty.
    public func first<Target: Model>() -> Column<Link<Target>?> where Value == Links<Target> {
        Column<Link<Target>?>(columnPath.appending(.named("FIRST")))
    }

    /// The last object of a list of links; null if the list is empty.
    public func last<Target: Model>() -> Column<Link<Target>?> where Value == Links<Target> {
        Column<Link<Target>?>(columnPath.appending(.named("LAST")))
    }

    /// The keys of a map.
    public func keys<Entry: PropertyElement>() -> Column<[String]> where Value == [String: Entry] {
        Column<[String]>(columnPath.appending(.operation("keys")))
    }

    /// The length in bytes, of text in UTF-8 or of data.
    public var byteCount: Column<Int> { Column<Int>(columnPath.appending(.operation("count"))) }

    /// The value of a key of a map; null if the map does not have the key.
    public subscript<Entry: PropertyElement>(key: String) -> Column<Entry?> where Value == [String: Entry] {
        Column<Entry?>(columnPath.appending(.key(key)))
    }
}
