/// A type that leads to objects of one class: a model, a link, or a collection of links.
public protocol LinkPath: SendableMetatype {
    /// The model that the type leads to.
    associatedtype LinkTarget: Model
}

/// An element of an array literal of ``Links``: an object, or a link to one.
public protocol LinkElement<LinkTarget>: LinkPath, Sendable {
    /// This link, or a link to this object.
    var typedLink: Link<LinkTarget> { get }
}

extension Link: LinkElement {
    public typealias LinkTarget = Target

    public var typedLink: Link<Target> { self }
}

extension Model {
    /// A link to this object.
    public var typedLink: Link<Self> { Link(self) }
}

extension Links: LinkPath {
    public typealias LinkTarget = Target
}

extension Optional: LinkPath where Wrapped: LinkPath {
    public typealias LinkTarget = Wrapped.LinkTarget
}

extension Array: LinkPath where Element: LinkPath {
    public typealias LinkTarget = Element.LinkTarget
}

extension Set: LinkPath where Element: LinkPath {
    public typealias LinkTarget = Element.LinkTarget
}

extension Dictionary: LinkPath where Value: LinkPath {
    public typealias LinkTarget = Value.LinkTarget
}
