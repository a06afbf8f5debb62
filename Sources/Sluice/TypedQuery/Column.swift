package import SluiceQuery

/// A property in a typed query, starting at the queried class: what `$0.price` is in `where { $0.price < 10_000 }`.
///
/// A dot follows a link, forward or backward: `$0.dealer.city`. A condition on a path through a collection holds when
/// any of its elements meets it, unless ``all`` or ``none`` says otherwise. Columns of numbers support arithmetic:
/// `$0.price * 1.19`. Comparing columns makes a condition and reads nothing.
@dynamicMemberLookup
public struct Column<Value> {
    /// The operand that represents the column in a comparison.
    let expression: ExpressionSyntax

    init(_ path: PathSyntax) { expression = .path(path) }

    init(_ expression: ExpressionSyntax) { self.expression = expression }

    /// The path of the property; empty for a calculated column, which has no properties of its own.
    package var columnPath: PathSyntax {
        if case .path(let path) = expression { path } else { PathSyntax([]) }
    }
}

extension Column where Value: Model {
    /// The queried class itself.
    init(_ root: Value.Type) { self.init(PathSyntax([])) }

    /// The number of objects that link to this one, through any property.
    public var backlinkCount: Column<Int> {
        Column<Int>(columnPath.appending(.operation("links")).appending(.operation("count")))
    }
}

extension Column where Value: Model {
    /// The paths of properties of the class.
    package static func paths<each Property>(
        _ path: repeat KeyPath<Column<Value>, Column<each Property>>
    ) -> [PathSyntax] {
        var paths: [PathSyntax] = []
        for path in repeat each path { paths.append(Column(Value.self)[keyPath: path].columnPath) }
        return paths
    }
}

extension Column where Value: LinkPath {
    /// A property of the queried class, or of the link's target.
    public subscript<Property: PropertyValue>(
        dynamicMember keyPath: KeyPath<Value.LinkTarget, Property>
    ) -> Column<Property> {
        Column<Property>(columnPath.appending(.property(Value.LinkTarget.modelDefinition.nameInQuery(at: keyPath))))
    }

    /// The objects that link to the queried object, or to the link's target.
    public subscript<Source: Model>(
        dynamicMember keyPath: KeyPath<Value.LinkTarget, Backlinks<Source>>
    ) -> Column<Links<Source>> {
        let definition = Value.LinkTarget.modelDefinition
        guard let (className, property) = definition.inverse(at: keyPath) else {
            return Column<Links<Source>>(columnPath.appending(.property(definition.nameInQuery(at: keyPath))))
        }
        return Column<Links<Source>>(columnPath.appending(.backlink(className: className, property: property)))
    }
}

extension ModelDefinition {
    /// The name that a query uses for a key path. A key path that is no property of the class keeps its Swift name, so
    /// that the error that rejects the query shows it.
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
