/// A property, reached from the queried class through links, as written: unchecked.
public struct PathSyntax: Sendable {
    /// How many elements of a path through collections must pass.
    public enum Quantifier: String, Hashable, Sendable {
        case any = "ANY"
        case all = "ALL"
        case none = "NONE"
    }

    /// One step of a path.
    public struct Component: Sendable {
        public enum Kind: Sendable {
            case property(String)
            /// `$x`: the element that a SUBQUERY speaks of, without its `$`; first in a path.
            case variable(String)
            /// An operation on what precedes: `count`, `size`, `min`, `keys` …, written with a leading `@`. A path may go on
            /// after `min`, `max`, `sum` and `avg`.
            case operation(String)
            /// `@links.Class.property`: the objects of a class that link here.
            case backlink(className: String, property: String)
            /// `['key']`: one value of a map.
            case key(String)
            /// `[n]`: one element of a list.
            case index(Int)
            /// `[FIRST]`, `[LAST]`, `[SIZE]` or `[*]`.
            case named(String)
        }

        public var kind: Kind
        /// Where the component stands in the text, in UTF-8 bytes.
        public var position: Int?
        /// Where a backlink names its class.
        var classPosition: Int?
        /// Where a backlink names its property.
        var propertyPosition: Int?

        public init(_ kind: Kind, position: Int? = nil) {
            self.kind = kind
            self.position = position
        }
    }

    public var quantifier: Quantifier?
    public var components: [Component]
    /// Where the path begins in the text, its quantifier included.
    public var position: Int?

    public init(_ components: [Component], quantifier: Quantifier? = nil, position: Int? = nil) {
        self.quantifier = quantifier
        self.components = components
        self.position = position
    }

    /// A path of property names, outermost first.
    public init(_ names: String..., quantifier: Quantifier? = nil) {
        self.init(names.map { Component(.property($0)) }, quantifier: quantifier)
    }
}
