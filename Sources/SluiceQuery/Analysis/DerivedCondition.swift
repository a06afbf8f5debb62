package import SluiceModel

/// A condition on one value that is computed from the queried object and what it is linked with: a count, an aggregate,
/// one element of a collection, a value behind single links, or a text of which the case does not count.
package struct DerivedCondition: Sendable, Hashable {
    /// What computes the value; it has one value for each object.
    package let path: Query.Path
    /// Whether the text that the path has is folded.
    package let ignoresCase: Bool
    /// The condition on the value, with folded constants if case is ignored.
    package let test: RootCondition.Test

    /// The condition that is the comparison itself. Nil for other comparisons.
    init?(_ comparison: Query.Comparison) {
        guard case .path(let path) = comparison.left, path.scope == 0, !path.isToMany, case .scalar = path.type else {
            return nil
        }
        self.path = path
        ignoresCase = comparison.ignoresCase
        // Folding keeps prefixes, suffixes and parts, since it goes scalar by scalar.
        func folded(_ value: Value) -> Value {
            guard comparison.ignoresCase, case .string(let text) = value else { return value }
            return .string(CaseFolding.fold(text))
        }
        switch (comparison.comparison, comparison.right) {
        case (let comparison, .constant(let value)) where path.type.isType(of: value):
            guard let test = RootCondition.Test(comparison, folded(value)) else { return nil }
            self.test = test
        case (.isIn, .list(let values)) where !values.isEmpty && values.allSatisfy({ path.type.isType(of: $0) }):
            test = values.count == 1 ? .equal(folded(values[0])) : .isIn(values.map(folded))
        default: return nil
        }
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
    package var text: String { test.text(of: path.text, ignoringCase: ignoresCase) }
}

/// Computes the value that a ``DerivedCondition`` is about.
package struct DerivedValue: Sendable {
    private let reader: PathReader
    private let ignoresCase: Bool
    /// What the value depends on.
    package let dependencies: QueryDependencies
    /// The links that are counted, if the value is the number of objects that link to the queried object; else nil.
    package let countedBacklinks: [Query.Path.Backlink]?

    /// - Parameters:
    ///   - condition: a condition on the value.
    ///   - schema: the schema that the condition's path was checked against.
    package init(_ condition: DerivedCondition, schema: Schema) {
        let path = condition.path
        ignoresCase = condition.ignoresCase
        reader = PathReader(path, schema: schema)
        dependencies = QueryDependencies(paths: [path])
        if path.steps.isEmpty, case .backlinkCount(let backlinks) = path.leaf {
            countedBacklinks = backlinks
        } else {
            countedBacklinks = nil
        }
    }

    package func value(of row: Row, in source: any ObjectSource) throws -> Value {
        let value = try EvaluationContext.with(row) { try reader.value(in: $0, source) }
        guard ignoresCase, case .string(let text) = value else { return value }
        return .string(CaseFolding.fold(text))
    }
}
