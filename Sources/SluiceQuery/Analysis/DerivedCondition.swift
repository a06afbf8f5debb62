package import SluiceModel

/// A condition on what is computed from the queried object and what it is linked with: a count, an aggregate,
/// arithmetic, the elements of a collection, values behind links, or a text of which the case does not count.
package struct DerivedCondition: Sendable, Hashable {
    /// What the values are computed from, and how.
    package struct Source: Sendable, Hashable {
        let operand: Query.Comparison.Operand
        /// Whether the texts that the operand has are folded.
        package let ignoresCase: Bool
        /// Whether all values must meet the condition; else one of them suffices.
        package let isOfAll: Bool
        /// The operand in the query language.
        package let text: String

        package static func == (left: Source, right: Source) -> Bool {
            left.ignoresCase == right.ignoresCase && left.isOfAll == right.isOfAll
                && UTF8Order.equal(left.text, right.text)
        }

        package func hash(into hasher: inout Hasher) { UTF8Order.hash(text, into: &hasher) }
    }

    package let source: Source
    /// The condition on a value, with folded constants if case is ignored.
    package let test: RootCondition.Test

    /// The condition that is the comparison itself. Nil for other comparisons.
    package init?(_ comparison: Query.Comparison) {
        guard case .each(let quantifier, _) = comparison.relation else { return nil }
        self.init(comparison, comparison.comparison, isOfAll: quantifier == .all)
    }

    /// The condition that the values must meet, before or after a change, for the change to alter whether the
    /// comparison holds.
    package init?(mattering comparison: Query.Comparison) {
        guard case .each(let quantifier, _) = comparison.relation else { return nil }
        guard comparison.comparison == .notEqual else {
            self.init(comparison, comparison.comparison, isOfAll: quantifier == .all)
            return
        }
        // That all values differ changes exactly when it changes whether one is equal.
        if comparison.left.isToMany, quantifier == .any { return nil }
        self.init(comparison, .equal, isOfAll: false)
    }

    private init?(_ comparison: Query.Comparison, _ operation: ComparisonOperator, isOfAll: Bool) {
        let operand = comparison.left
        switch operand {
        case .path, .arithmetic: break
        case .constant, .list, .now: return nil
        }
        guard case .scalar? = operand.type, operand.paths.allSatisfy({ $0.scope == 0 }) else { return nil }
        func constant(_ value: Value) -> Value? {
            guard let value = operand.type?.exactly(value) else { return nil }
            // Folding keeps prefixes, suffixes and parts, since it goes scalar by scalar.
            guard comparison.ignoresCase, case .string(let text) = value else { return value }
            return .string(CaseFolding.fold(text))
        }
        switch (operation, comparison.right) {
        case (_, .constant(let value)):
            guard let value = constant(value), let test = RootCondition.Test(operation, value) else { return nil }
            self.test = test
        case (.isIn, .list(let values)):
            let constants = values.compactMap(constant)
            guard !values.isEmpty, constants.count == values.count else { return nil }
            test = constants.count == 1 ? .equal(constants[0]) : .isIn(constants)
        default: return nil
        }
        source = Source(
            operand: operand, ignoresCase: comparison.ignoresCase, isOfAll: isOfAll,
            text: CanonicalText.operand(operand))
    }

    /// What the values are read from.
    package var dependencies: QueryDependencies { QueryDependencies(paths: source.operand.paths) }

    /// The condition in the query language.
    package var text: String {
        test.text(of: source.isOfAll ? "ALL \(source.text)" : source.text, ignoringCase: source.ignoresCase)
    }
}

/// Computes the values that a ``DerivedCondition`` is about.
package struct DerivedValues: Sendable {
    /// What an object has.
    package enum Found {
        /// One of these values meets the condition if the comparison holds.
        case values([Value])
        /// The comparison holds whatever the condition is, since there is no value that could fail.
        case none
        /// There are too many values to look all of them up.
        case tooMany
    }

    private let reader: OperandReader
    private let source: DerivedCondition.Source
    /// What the values depend on.
    package let dependencies: QueryDependencies
    /// The links that are counted, if the value is the number of objects that link to the queried object; else nil.
    package let countedBacklinks: [Query.Path.Backlink]?

    private static let valueCountMax = 256

    private enum Stop: Error { case tooMany }

    /// - Parameters:
    ///   - condition: a condition on the values.
    ///   - schema: the schema that the condition's paths were checked against.
    package init(_ condition: DerivedCondition, schema: Schema) {
        source = condition.source
        reader = OperandReader(source.operand, schema: schema)
        dependencies = condition.dependencies
        if case .path(let path) = source.operand, path.steps.isEmpty, case .backlinkCount(let backlinks) = path.leaf {
            countedBacklinks = backlinks
        } else {
            countedBacklinks = nil
        }
    }

    package func found(of row: Row, in source: any ObjectSource) throws -> Found {
        try EvaluationContext.with(row) { context in
            guard reader.isToMany else { return .values([folded(try reader.value(context, source))]) }
            var values: [Value] = []
            do {
                _ = try reader.anyValue(context, source) { value in
                    values.append(folded(value))
                    // If all values meet the condition, so does the first.
                    if self.source.isOfAll { return true }
                    if values.count > Self.valueCountMax { throw Stop.tooMany }
                    return false
                }
            } catch is Stop { return .tooMany }
            return values.isEmpty && self.source.isOfAll ? .none : .values(values)
        }
    }

    private func folded(_ value: Value) -> Value {
        guard source.ignoresCase, case .string(let text) = value else { return value }
        return .string(CaseFolding.fold(text))
    }
}

extension Query.Path.ValueType {
    /// A constant as a value of this type; nil if no value of the type equals it exactly.
    fileprivate func exactly(_ value: Value) -> Value? {
        if isType(of: value) { return value }
        switch (self, value) {
        case (.scalar(.double), .int(let number)): return Double(exactly: number).map { .double($0) }
        case (.scalar(.float), .int(let number)): return Float(exactly: number).map { .float($0) }
        case (.scalar(.double), .float(let number)): return .double(Double(number))
        default: return nil
        }
    }
}
