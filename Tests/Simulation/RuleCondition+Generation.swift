import SluiceModel
import TestSupport

extension RuleCondition<RuleSubject> {
    /// Makes a condition on the objects of a class.
    ///
    /// - Parameter breadth: the most operands of its OR.
    static func generate(for className: String, breadth: Int, _ generator: inout SeededGenerator) -> RuleCondition {
        let leaves = (RuleLeaves.ofClasses[className] ?? []) + RuleLeaves.ofUsers
        let operands = (0..<1 + generator.below(breadth)).map { _ -> RuleCondition in
            let leaf = RuleCondition.leaf(generator.pick(leaves))
            return switch generator.below(10) {
            case 0: .not(leaf)
            case 1: .and(leaf, .leaf(generator.pick(leaves)))
            case 2: .and(leaf, .not(.leaf(generator.pick(leaves))))
            default: leaf
            }
        }
        return operands.count == 1 ? operands[0] : .or(operands)
    }

    /// Makes a condition that most objects meet, until something changes.
    static func wide(for className: String, _ generator: inout SeededGenerator) -> RuleCondition {
        let leaves = RuleLeaves.ofClasses[className] ?? []
        let narrow = RuleCondition.leaf(generator.pick(leaves))
        let wide = RuleCondition.not(.leaf(generator.pick(leaves)))
        return switch generator.below(4) {
        case 0: wide
        case 1: .or([wide, narrow])
        case 2: .or([wide, .leaf(generator.pick(RuleLeaves.ofUsers))])
        default: .or([.leaf(generator.pick(RuleLeaves.ofUsers)), .and(wide, .not(narrow))])
        }
    }
}
