internal import SluiceModel

/// A predicate made ready to run.
indirect enum EvaluatorNode: Sendable {
    case constant(Bool)
    case and([EvaluatorNode])
    case or([EvaluatorNode])
    case leaf(EvaluatorLeaf)

    init(_ predicate: Query.Predicate, schema: Schema) {
        switch predicate {
        case .constant(let isTrue): self = .constant(isTrue)
        case .and(let operands): self = .and(operands.map { EvaluatorNode($0, schema: schema) })
        case .or(let operands): self = .or(operands.map { EvaluatorNode($0, schema: schema) })
        case .comparison(let comparison):
            self = .leaf(EvaluatorLeaf(comparison, isNegated: false, schema: schema))
        case .not(let comparison):
            self = .leaf(EvaluatorLeaf(comparison, isNegated: true, schema: schema))
        }
    }

    func matches(_ row: Row, in source: any ObjectSource) throws -> Bool {
        switch self {
        case .constant(let isTrue): return isTrue
        case .leaf(let leaf): return try leaf.matches(row, in: source)
        case .and(let operands):
            for operand in operands where try !operand.matches(row, in: source) { return false }
            return true
        case .or(let operands):
            for operand in operands where try operand.matches(row, in: source) { return true }
            return false
        }
    }
}

/// A comparison made ready to run.
final class EvaluatorLeaf: Sendable {
    private enum Operand: Sendable {
        case test(ValueTest)
        /// The other side is this path's value.
        case path(PathReader, isLeft: Bool)
    }

    /// The path with many values, if there is one.
    private let reader: PathReader
    private let operand: Operand
    private let comparison: ComparisonOperator
    private let ignoresCase: Bool
    private let isAll: Bool
    private let isNegated: Bool

    init(_ source: Query.Comparison, isNegated: Bool, schema: Schema) {
        self.isNegated = isNegated
        comparison = source.comparison
        ignoresCase = source.ignoresCase
        isAll = source.quantifier == .all
        switch (source.left, source.right) {
        case (.path(let path), .constant(let value)):
            reader = PathReader(path, schema: schema)
            operand = .test(ValueTest(source.comparison, value, ignoresCase: source.ignoresCase))
        case (.path(let path), .list(let values)):
            reader = PathReader(path, schema: schema)
            operand = .test(ValueTest(isIn: values, ignoresCase: source.ignoresCase))
        case (.constant(let value), .path(let path)):
            reader = PathReader(path, schema: schema)
            operand = .test(ValueTest(value, source.comparison, ignoresCase: source.ignoresCase))
        case (.path(let left), .path(let right)):
            let isTurned = right.isToMany
            reader = PathReader(isTurned ? right : left, schema: schema)
            operand = .path(PathReader(isTurned ? left : right, schema: schema), isLeft: isTurned)
        default: preconditionFailure("a checked comparison has a path on one side at least")
        }
    }

    func matches(_ row: Row, in source: any ObjectSource) throws -> Bool {
        switch operand {
        case .test(let test): return try matches(row, test, in: source)
        case .path(let other, let isLeft):
            let value = try other.value(of: row, in: source)
            let test =
                isLeft
                ? ValueTest(value, comparison, ignoresCase: ignoresCase)
                : ValueTest(comparison, ignoresCase ? value.folded : value, ignoresCase: ignoresCase)
            return try matches(row, test, in: source)
        }
    }

    /// All values pass if none fails.
    private func matches(_ row: Row, _ test: ValueTest, in source: any ObjectSource) throws -> Bool {
        try reader.anyValue(of: row, in: source, passes: test, isNegated: isAll) != (isAll != isNegated)
    }
}
