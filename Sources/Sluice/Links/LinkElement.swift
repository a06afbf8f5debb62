/// A type that leads to objects of one class: a model itself, links, and collections of links.
public protocol LinkPath: SendableMetatype {
    /// The model that it leads to.
    associatedtype LinkTarget: Model
}

/// What a literal of ``Links`` can list: objects, and links to them.
public protocol LinkElement<LinkTarget>: LinkPath, Sendable {
    /// The link itself, or a link to the object.
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
