internal import SluiceModel

/// A comparison, prepared for evaluation.
final class EvaluatorLeaf: Sendable {
    private let left: OperandReader
    private let right: OperandReader
    private let comparison: ValueComparison
    private let relation: Query.Comparison.Relation
    private let isMembership: Bool
    private let isNegated: Bool
    /// Whether both sides have one value.
    private let isSingle: Bool
    /// An estimate of how long the evaluation takes; more than for any ``PropertyTest``.
    let cost: Int

    init(_ source: Query.Comparison, isNegated: Bool, schema: Schema) {
        self.isNegated = isNegated
        left = OperandReader(source.left, schema: schema)
        right = OperandReader(source.right, schema: schema)
        comparison = ValueComparison(source.comparison, ignoresCase: source.ignoresCase)
        isMembership = source.comparison == .isIn
        relation = source.relation
        isSingle = !source.left.isToMany && !source.right.isToMany
        cost = source.paths.reduce(4) { $0 + $1.cost }
    }

    func matches(_ context: EvaluationContext, _ source: any ObjectSource) throws -> Bool {
        try holds(context, source) != isNegated
    }

    private func holds(_ context: EvaluationContext, _ source: any ObjectSource) throws -> Bool {
        let (isAll, isAllOnRight): (Bool, Bool)
        switch relation {
        case .inOrder, .asSets:
            let (own, other) = (try left.whole(context, source), try right.whole(context, source))
            let (count, otherCount) = (own.elementCount, other.elementCount)
            try source.spend(relation == .asSets ? count * otherCount : max(count, otherCount))
            return comparison.holds(wholes: own, other)
        case .each(let own, let other): (isAll, isAllOnRight) = (own == .all, other == .all)
        }
        if isSingle {
            return try holds(try left.value(context, source), try right.value(context, source), source)
        }
        if case .list(let values) = right {
            return try quantified(left, isAll, context, source) { value in
                if isMembership { return comparison.isMember(value, of: values) }
                return isAllOnRight
                    ? try values.allSatisfy { try holds(value, $0, source) }
                    : try values.contains { try holds(value, $0, source) }
            }
        }
        return try quantified(left, isAll, context, source) { value in
            try quantified(right, isAllOnRight, context, source) { try holds(value, $0, source) }
        }
    }

    private func holds(_ left: Value, _ right: Value, _ source: any ObjectSource) throws -> Bool {
        let stepCount = comparison.stepCount(left, right)
        if stepCount > 0 { try source.spend(stepCount) }
        return comparison.holds(left, right)
    }

    /// Whether any value, or every value if `isAll`, passes a test. Every value passes if none fails.
    private func quantified(
        _ operand: OperandReader, _ isAll: Bool, _ context: EvaluationContext, _ source: any ObjectSource,
        _ test: (Value) throws -> Bool
    ) throws -> Bool {
        try operand.anyValue(context, source) { try test($0) != isAll } != isAll
    }
}

extension Query.Path {
    /// An estimate of how long reading takes.
    fileprivate var cost: Int {
        let own = steps.reduce(1) { $0 + ($1.isToMany ? 64 : 16) }
        return switch leaf {
        case .elements, .keys, .whole: own + 8
        case .link, .presence: own + 16
        case .backlinkCount: own + 64
        case .aggregate(_, let elements): own + 16 + elements.cost
        case .subquery(let subquery): own + 64 + subquery.collection.cost
        case .object, .value, .entry, .element, .count, .size: own
        }
    }
}

/// One side of a comparison, prepared for evaluation.
indirect enum OperandReader: Sendable {
    case constant(Value)
    case list([Value])
    case path(PathReader)
    /// `$now`, plus so many microseconds.
    case now(Int64)
    case arithmetic(ArithmeticOperator, OperandReader, OperandReader, ScalarType, isToMany: Bool)

    init(_ operand: Query.Comparison.Operand, schema: Schema) {
        switch operand {
        case .constant(let value): self = .constant(value)
        case .list(let values): self = .list(values)
        case .path(let path): self = .path(PathReader(path, schema: schema))
        case .now(let offset): self = .now(offset)
        case .arithmetic(let operation, let left, let right, let type):
            self = .arithmetic(
                operation, OperandReader(left, schema: schema), OperandReader(right, schema: schema), type,
                isToMany: operand.isToMany)
        }
    }

    var isToMany: Bool {
        switch self {
        case .constant, .now: false
        case .list: true
        case .path(let reader): reader.isToMany
        case .arithmetic(_, _, _, _, let isToMany): isToMany
        }
    }

    /// The value of a side with one value.
    func value(_ context: EvaluationContext, _ source: any ObjectSource) throws -> Value {
        switch self {
        case .constant(let value): value
        case .list: .null
        case .now(let offset): .date(source.now.advanced(by: offset))
        case .path(let reader): try reader.value(in: context, source)
        case .arithmetic(let operation, let left, let right, let type, _):
            Arithmetic.apply(operation, try left.value(context, source), try right.value(context, source), as: type)
        }
    }

    /// The values of a side with many values as one list or set.
    func whole(_ context: EvaluationContext, _ source: any ObjectSource) throws -> Value {
        guard isToMany else { return try value(context, source) }
        var values: [Value] = []
        _ = try anyValue(context, source) { value in
            values.append(value)
            return false
        }
        return .list(values)
    }

    /// Whether at least one value passes a test.
    func anyValue(
        _ context: EvaluationContext, _ source: any ObjectSource, _ test: (Value) throws -> Bool
    ) throws -> Bool {
        switch self {
        case .constant(let value): return try test(value)
        case .list(let values): return try values.contains(where: test)
        case .now: return try test(value(context, source))
        case .path(let reader): return try reader.anyValue(in: context, source, test)
        case .arithmetic(let operation, let left, let right, let type, let isToMany):
            guard isToMany else { return try test(value(context, source)) }
            return try left.anyValue(context, source) { value in
                try right.anyValue(context, source) { try test(Arithmetic.apply(operation, value, $0, as: type)) }
            }
        }
    }
}
