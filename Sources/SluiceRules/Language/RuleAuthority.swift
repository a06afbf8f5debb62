internal import SluiceModel
internal import SluiceQuery

/// Finds conditions that hold by what the client alone has chosen. `$client` narrows what a user may do; it is never
/// the reason for it.
enum RuleAuthority {
    /// Whether each way to meet the condition needs something besides `$client`.
    static func isSound(_ predicate: PredicateSyntax, isNegated: Bool = false) -> Bool {
        switch predicate {
        case .constant: true
        case .comparison(let comparison): !comparison.variables.contains { $0.source == .client }
        case .not(let operand): isSound(operand, isNegated: !isNegated)
        case .and(let operands):
            isNegated
                ? operands.allSatisfy { isSound($0, isNegated: isNegated) }
                : operands.contains { isSound($0, isNegated: isNegated) }
        case .or(let operands):
            isNegated
                ? operands.contains { isSound($0, isNegated: isNegated) }
                : operands.allSatisfy { isSound($0, isNegated: isNegated) }
        }
    }

    static let message =
        "the client chooses $client, so that alone must not allow anything; "
        + "join it by AND with what does: 'public == TRUE AND …', or 'TRUEPREDICATE AND …' for everybody"
}
