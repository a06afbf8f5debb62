/// A condition of generated rules: its text, which the product reads, and what it means, which the product does not
/// see. The subject is what it is asked about, such as an object and a user.
///
/// The meaning is of Kleene's logic. A comparison with a variable that has no value is neither true nor false, and what
/// is not true allows nothing.
package indirect enum RuleCondition<Subject>: Sendable {
    case leaf(RuleLeaf<Subject>)
    case not(RuleCondition)
    case and(RuleCondition, RuleCondition)
    case or([RuleCondition])

    package static var always: RuleCondition { .leaf(RuleLeaf("TRUEPREDICATE") { _ in true }) }

    package var text: String {
        switch self {
        case .leaf(let leaf): leaf.text
        case .not(let operand): "NOT (\(operand.text))"
        case .and(let left, let right): "((\(left.text)) AND (\(right.text)))"
        case .or(let operands): operands.map(\.text).joined(separator: " OR ")
        }
    }

    /// Whether the condition holds; nil if that depends on a variable without a value.
    package func holds(_ subject: Subject) -> Bool? {
        switch self {
        case .leaf(let leaf): return leaf.holds(subject)
        case .not(let operand): return operand.holds(subject).map { !$0 }
        case .and(let left, let right):
            let values = [left.holds(subject), right.holds(subject)]
            return values.contains(false) ? false : values.contains(nil) ? nil : true
        case .or(let operands):
            let values = operands.map { $0.holds(subject) }
            return values.contains(true) ? true : values.contains(nil) ? nil : false
        }
    }
}

/// The smallest condition.
package struct RuleLeaf<Subject>: Sendable {
    package let text: String
    package let holds: @Sendable (Subject) -> Bool?

    package init(_ text: String, _ holds: @escaping @Sendable (Subject) -> Bool?) {
        self.text = text
        self.holds = holds
    }
}
