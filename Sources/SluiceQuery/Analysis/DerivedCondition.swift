package import SluiceModel

/// A condition on one value that is computed from the queried object and what it is linked with: a count, an aggregate,
/// one element of a collection, or a value behind single links.
package struct DerivedCondition: Sendable, Hashable {
    /// What computes the value; it has one value for each object.
    package let path: Query.Path
    package let test: RootCondition.Test

    /// The condition that is the comparison itself. Nil for other comparisons.
    init?(_ comparison: Query.Comparison) {
        guard case .path(let path) = comparison.left, path.scope == 0, !path.isToMany, !comparison.ignoresCase,
            case .scalar = path.type, case .constant(let value) = comparison.right, path.type.isType(of: value),
            let test = RootCondition.Test(comparison.comparison, value)
        else { return nil }
        self.path = path
        self.test = test
    }

    /// The condition that the value must meet, before or after a change, for the change to alter whether the
    /// comparison holds.
    init?(mattering comparison: Query.Comparison) {
        // Inequality changes exactly when equality does.
        if comparison.comparison == .notEqual {
            self.init(
                Query.Comparison(
                    comparison.relation, comparison.left, .equal, comparison.right, ignoresCase: comparison.ignoresCase)
            )
        } else {
            self.init(comparison)
        }
    }

    /// The condition in the query language.
    package var text: String { test.text(of: path.text) }
}

/// Computes the value that a ``DerivedCondition`` is about.
package struct DerivedValue: Sendable {
    private let reader: PathReader
    /// What the value depends on.
    package let dependencies: QueryDependencies

    /// - Parameter schema: the schema that the path was checked against.
    package init(_ path: Query.Path, schema: Schema) {
        reader = PathReader(path, schema: schema)
        dependencies = QueryDependencies(paths: [path])
    }

    package func value(of row: Row, in source: any ObjectSource) throws -> Value {
        try EvaluationContext.with(row) { try reader.value(in: $0, source) }
    }
}
