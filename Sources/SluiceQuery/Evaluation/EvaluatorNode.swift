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

    func matches(_ context: EvaluationContext, _ source: any ObjectSource) throws -> Bool {
        switch self {
        case .constant(let isTrue): return isTrue
        case .leaf(let leaf): return try leaf.matches(context, source)
        case .and(let operands):
            for operand in operands where try !operand.matches(context, source) { return false }
            return true
        case .or(let operands):
            for operand in operands where try operand.matches(context, source) { return true }
            return false
        }
    }
}
