internal import SluiceModel

/// A predicate, prepared for evaluation.
enum EvaluatorNode: Sendable {
    case constant(Bool)
    case test(PropertyTest)
    case leaf(EvaluatorLeaf)
    case tuples(TupleTest)
    /// The cheapest operands first.
    case and([EvaluatorNode])
    case or([EvaluatorNode])

    init(_ predicate: Query.Predicate, schema: Schema) {
        switch predicate {
        case .constant(let isTrue): self = .constant(isTrue)
        case .and(let operands): self = .and(Self.ordered(operands, isConjunction: true, schema))
        case .or(let operands): self = .or(Self.ordered(operands, isConjunction: false, schema))
        case .comparison(let comparison): self.init(comparison, isNegated: false, schema)
        case .not(let comparison): self.init(comparison, isNegated: true, schema)
        }
    }

    private init(_ comparison: Query.Comparison, isNegated: Bool, _ schema: Schema) {
        if let test = PropertyTest(comparison, isNegated: isNegated) {
            self = .test(test)
        } else {
            self = .leaf(EvaluatorLeaf(comparison, isNegated: isNegated, schema: schema))
        }
    }

    private static func ordered(
        _ operands: [Query.Predicate], isConjunction: Bool, _ schema: Schema
    ) -> [EvaluatorNode] {
        let (memberships, others) = TupleMembership.split(operands, isConjunction: isConjunction)
        let tests = memberships.map { EvaluatorNode.tuples(TupleTest($0, isNegated: isConjunction, schema: schema)) }
        return (tests + others.map { EvaluatorNode($0, schema: schema) }).sorted { $0.cost < $1.cost }
    }

    /// An estimate of how long the evaluation takes, for comparison with others.
    private var cost: Int {
        switch self {
        case .constant: 0
        case .test(let test): test.isOfText ? 2 : 1
        case .leaf(let leaf): leaf.cost
        case .tuples(let test): test.cost
        case .and(let operands), .or(let operands): operands.reduce(0) { $0 + $1.cost }
        }
    }

    func matches(_ context: EvaluationContext, _ source: any ObjectSource) throws -> Bool {
        switch self {
        case .constant(let isTrue): return isTrue
        case .test(let test): return test.passes(context)
        case .leaf(let leaf): return try leaf.matches(context, source)
        case .tuples(let test): return try test.passes(context, source)
        case .and(let operands):
            let nodes = operands.span
            for index in nodes.indices where try !nodes[index].matches(context, source) { return false }
            return true
        case .or(let operands):
            let nodes = operands.span
            for index in nodes.indices where try nodes[index].matches(context, source) { return true }
            return false
        }
    }
}
