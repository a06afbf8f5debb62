/// A path as written, unchecked: a property, reached from the queried class through links.
package struct PathSyntax: Sendable {
    /// How many elements of a path through collections must pass.
    package enum Quantifier: String, Hashable, Sendable {
        case any = "ANY"
        case all = "ALL"
        case none = "NONE"
    }

    /// One step of a path.
    package struct Component: Sendable {
        package enum Kind: Sendable {
            case property(String)
            /// `$x`, without its `$`: an object of a SUBQUERY. Only the first component can be one.
            case variable(String)
            /// An operation on what precedes it: `count`, `size`, `min`, `keys` …, written with a leading `@`. A path
            /// may go on after `min`, `max`, `sum` and `avg`.
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

        package var kind: Kind
        /// Where the component is in the text, in UTF-8 bytes.
        package var position: Int?
        /// Where a backlink names its class.
        var classPosition: Int?
        /// Where a backlink names its property.
        var propertyPosition: Int?

        package init(_ kind: Kind, position: Int? = nil) {
            self.kind = kind
            self.position = position
        }
    }

    package var quantifier: Quantifier?
    package var components: [Component]
    /// Where the path begins in the text, its quantifier included.
    package var position: Int?

    package init(_ components: [Component], quantifier: Quantifier? = nil, position: Int? = nil) {
        self.quantifier = quantifier
        self.components = components
        self.position = position
    }

    /// A path of property names, outermost first.
    package init(_ names: String..., quantifier: Quantifier? = nil) {
        self.init(names.map { Component(.property($0)) }, quantifier: quantifier)
    }
}
