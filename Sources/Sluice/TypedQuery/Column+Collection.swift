internal import SluiceQuery

/// A property that holds any number of elements.
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
    /// An element: the condition holds when some element meets it.
    public var any: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.any)) }

    /// An element: the condition holds when every element meets it, and when there is none.
    public var all: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.all)) }

    /// An element: the condition holds when no element meets it.
    public var none: Column<Value.ElementValue> { Column<Value.ElementValue>(columnPath.quantified(.none)) }

    /// How many elements there are.
    public var count: Column<Int> { Column<Int>(columnPath.appending(.operation("count"))) }

    /// There is no element.
    public var isEmpty: Condition { count == 0 }

    /// Some element has this value.
    public func contains(_ element: Value.ElementValue) -> Condition { any.compared(.equal, element) }

    /// Some link leads to this object.
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

    /// The first element of a list; null where there is none.
    public func first<Element: PropertyElement>() -> Column<Element?> where Value == [Element] {
        Column<Element?>(columnPath.appending(.named("FIRST")))
    }

    /// The last element of a list; null where there is none.
    public func last<Element: PropertyElement>() -> Column<Element?> where Value == [Element] {
        Column<Element?>(columnPath.appending(.named("LAST")))
    }

    /// The object at a position of a list of links, from 0; none beyond its end.
    public subscript<Target: Model>(index: Int) -> Column<Link<Target>?> where Value == Links<Target> {
        Column<Link<Target>?>(columnPath.appending(.index(index)))
    }

    /// The first object of a list of links; none where there is none.
    public func first<Target: Model>() -> Column<Link<Target>?> where Value == Links<Target> {
        Column<Link<Target>?>(columnPath.appending(.named("FIRST")))
    }

    /// The last object of a list of links; none where there is none.
    public func last<Target: Model>() -> Column<Link<Target>?> where Value == Links<Target> {
        Column<Link<Target>?>(columnPath.appending(.named("LAST")))
    }

    /// The keys of a map.
    public func keys<Entry: PropertyElement>() -> Column<[String]> where Value == [String: Entry] {
        Column<[String]>(columnPath.appending(.operation("keys")))
    }

    /// The length in bytes: of text in UTF-8, or of data.
    public var byteCount: Column<Int> { Column<Int>(columnPath.appending(.operation("count"))) }

    /// The value under a key of a map; null where the map lacks the key.
    public subscript<Entry: PropertyElement>(key: String) -> Column<Entry?> where Value == [String: Entry] {
        Column<Entry?>(columnPath.appending(.key(key)))
    }
}
