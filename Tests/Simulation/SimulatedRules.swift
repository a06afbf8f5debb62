import SluiceModel
import SluiceRules
import TestSupport

/// A generated rules file, with the meaning of its conditions.
final class SimulatedRules {
    struct ClassRules {
        var conditions: [RuleAction: RuleCondition<RuleSubject>] = [:]
        var isTransitive = false
        /// What writing a property needs.
        var writes: [String: RuleCondition<RuleSubject>] = [:]
    }

    /// Numbered in the order of deployment, from 1.
    let number: Int
    let classes: [String: ClassRules]

    /// - Parameter isGenerous: whether most objects are readable in most states, so that much can be lost. Strict rules
    ///   leave little to lose, and refuse more.
    init(number: Int, isGenerous: Bool, _ generator: inout SeededGenerator) {
        self.number = number
        var classes: [String: ClassRules] = [:]
        for className in RuleLeaves.ofClasses.keys.sorted() {
            // Sometimes a class has no rules, so that nobody sees it.
            if generator.chance(isGenerous ? 2 : 5) { continue }
            var rules = ClassRules()
            if isGenerous {
                rules.conditions[.read] = generator.chance(20) ? .always : .wide(for: className, &generator)
            } else {
                let readsAll = generator.chance(20)
                rules.conditions[.read] =
                    readsAll ? .always : .generate(for: className, breadth: 3, &generator)
            }
            for action in [RuleAction.create, .update, .delete] where !generator.chance(5) {
                let isFree = generator.chance(isGenerous ? 85 : 65)
                rules.conditions[action] = isFree ? .always : .generate(for: className, breadth: 3, &generator)
            }
            if generator.chance(30), rules.conditions[.update] != nil {
                let isFree = generator.chance(isGenerous ? 85 : 30)
                rules.conditions[.updateAfter] = isFree ? .always : .generate(for: className, breadth: 3, &generator)
            }
            if className != "Note", className != "Dealer", generator.chance(25) {
                rules.writes["name"] = .generate(for: className, breadth: 2, &generator)
            }
            classes[className] = rules
        }
        // What readable objects link to; classes that link to each other would need a definition of what a circle is.
        if generator.chance(25) { classes[generator.pick(["Car", "Dealer", "User"])]?.isTransitive = true }
        self.classes = classes
    }

    /// The file.
    var text: String {
        func object(_ members: [(String, String)]) -> String {
            "{\(members.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", "))}"
        }
        func quoted(_ text: String) -> String { "\"\(text)\"" }
        let members = classes.sorted { $0.key < $1.key }.map { name, rules in
            var members = rules.conditions.map { ($0.key.rawValue, quoted($0.value.text)) }.sorted { $0.0 < $1.0 }
            if rules.isTransitive { members.append(("transitive", "true")) }
            if !rules.writes.isEmpty {
                let fields = rules.writes.map { ($0.key, object([("write", quoted($0.value.text))])) }
                members.append(("fields", object(fields)))
            }
            return (name, object(members))
        }
        return object([
            ("user", object(RuleLeaves.sets.map { ($0.0, quoted($0.1)) })),
            ("roles", object(RuleLeaves.roles.map { ($0.0, quoted($0.1)) })),
            ("database", object([("schema", quoted("TRUEPREDICATE"))])), ("classes", object(members)),
        ])
    }
}
