package import SluiceQuery

/// A property in a typed query, reached from the queried class: what `$0.price` is in `where { $0.price < 10_000 }`.
///
/// A dot follows links: `$0.dealer.city`. A path through a collection speaks of any of its elements unless ``all`` or
/// ``none`` says otherwise. Comparing makes a condition; nothing is read.
@dynamicMemberLookup
public struct Column<Value> {
    package let columnPath: PathSyntax

    init(_ path: PathSyntax) {
        columnPath = path
    }
}

extension Column where Value: Model {
    /// The queried class itself.
    init(_ root: Value.Type) {
        columnPath = PathSyntax([])
    }
}

extension Column where Value: LinkPath {
    /// A property of the class, or of the link's target.
    public subscript<Property: PropertyValue>(
        dynamicMember keyPath: KeyPath<Value.LinkTarget, Property>
    ) -> Column<Property> {
        Column<Property>(columnPath.appending(.property(Value.LinkTarget.modelDefinition.nameInQuery(at: keyPath))))
    }
}

extension ModelDefinition {
    /// The name that a query shows for a key path. What is no property of the class keeps its Swift name, so that the
    /// query is refused with a message that says it.
    func nameInQuery(at keyPath: PartialKeyPath<Root>) -> String {
        if let name = propertyName(at: keyPath) { return name }
        let text = String(describing: keyPath)
        return text.lastIndex(of: ".").map { String(text[text.index(after: $0)...]) } ?? text
    }
}

extension PathSyntax {
    func appending(_ kind: Component.Kind) -> PathSyntax {
        PathSyntax(components + [Component(kind)], quantifier: quantifier, position: position)
    }

    func quantified(_ quantifier: Quantifier) -> PathSyntax {
        PathSyntax(components, quantifier: quantifier, position: position)
    }
}
