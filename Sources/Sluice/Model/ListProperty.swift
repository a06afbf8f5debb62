/// A property type that is a list: an array, or ``Links``.
public protocol ListProperty: PropertyValue {
    /// What the list has.
    associatedtype ListElement: PropertyElement
}

extension Array: ListProperty where Element: PropertyElement {
    public typealias ListElement = Element
}

extension Links: ListProperty {
    public typealias ListElement = Link<Target>
}
