package import SluiceModel

/// A condition on one property of an object at the end of a chain of links from the queried object.
package struct LinkedCondition: Sendable, Hashable {
    /// The chain, from the queried class outwards; at least one link.
    package let links: [QueryDependencies.Link]
    /// The condition, on the class at the end of `links`.
    package let condition: RootCondition

    /// The condition that some object at the end must meet for the comparison to hold for the queried object.
    ///
    /// Nil if the comparison may hold without such an object, as a comparison with null does, or if it asks for all
    /// objects at the end instead of one.
    init?(_ comparison: Query.Comparison) {
        guard let path = Self.path(of: comparison), let condition = RootCondition(comparison, of: path) else {
            return nil
        }
        self.init(path, condition)
    }

    /// The condition that an object at the end must meet, before or after a change of it, for the change to alter
    /// whether the comparison holds.
    init?(mattering comparison: Query.Comparison) {
        guard let path = Self.path(of: comparison) else { return nil }
        // With one value, inequality changes exactly when equality does.
        if comparison.comparison == .notEqual, !path.isToMany, case .constant(let value) = comparison.right {
            let equality = Query.Comparison(
                comparison.relation, comparison.left, .equal, .constant(value), ignoresCase: comparison.ignoresCase)
            self.init(equality)
        } else {
            self.init(comparison)
        }
    }

    private init?(_ path: Query.Path, _ condition: RootCondition) {
        if case .equal(.null) = condition.test { return nil }
        links = path.steps.map {
            QueryDependencies.Link(
                classIndex: $0.classIndex, property: $0.property, isBacklink: $0.isBacklink,
                sourceClass: $0.sourceClass, targetClass: $0.targetClass)
        }
        self.condition = condition
    }

    private static func path(of comparison: Query.Comparison) -> Query.Path? {
        guard case .path(let path) = comparison.left, path.scope == 0, !path.steps.isEmpty, case .value = path.leaf,
            case .each(.any, _) = comparison.relation
        else { return nil }
        return path
    }
}

extension LinkedCondition {
    /// The condition in the query language.
    package func text(in schema: Schema) -> String {
        guard let last = links.last else { return "" }
        let names = links.map { link in
            let name = schema[link.classIndex].properties[link.property].name
            return link.isBacklink ? "@links.\(schema[link.classIndex].name).\(name)" : name
        }
        return "\(names.joined(separator: ".")).\(condition.text(in: schema[last.targetClass]))"
    }
}
