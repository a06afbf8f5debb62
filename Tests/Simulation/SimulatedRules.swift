import SluiceModel
import SluiceRules
import TestSupport

/// A generated rules file, with the meaning of its conditions.
final class SimulatedRules {
    struct ClassRules {
        var conditions: [RuleAction: RuleCondition] = [:]
        var isTransitive = false
        /// What writing a property needs.
        var writes: [String: RuleCondition] = [:]
    }

    /// Numbered in the order of deployment, from 1.
    let number: Int
    let classes: [String: ClassRules]

    /// - Parameter isGenerous: whether most objects are readable in most states, so that much can be lost. Strict rules
    ///   leave little to lose, and refuse more.
    init(number: Int, isGenerous: Bool, _ generator: inout SeededGenerator) {
        self.number = number
        var classes: [String: ClassRules] = [:]
        for className in RuleLeaf.ofClasses.keys.sorted() {
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
            ("user", object(RuleLeaf.sets.map { ($0.0, quoted($0.1)) })),
            ("roles", object(RuleLeaf.roles.map { ($0.0, quoted($0.1)) })),
            ("database", object([("schema", quoted("TRUEPREDICATE"))])), ("classes", object(members)),
        ])
    }
}

/// What a user may do: the rules, and who it is. Without rules everybody may do everything.
struct RuledAccess {
    let rules: SimulatedRules?
    let identity: SimulatedIdentity

    /// Equal for equal accesses.
    var name: String { "rules \(rules?.number ?? 0) for \(identity)" }

    /// The objects of a state that the user may read.
    func readable(of state: ServerState) -> [[ObjectKey: Row]] {
        let judge = AccessJudge(self, in: state)
        return state.schema.classes.map { declared in
            state.objects(named: declared.name).filter { judge.mayRead(declared.name, $0.value) }
        }
    }
}

/// Judges what a user may do with the objects of a state.
struct AccessJudge {
    private let access: RuledAccess
    private let state: ServerState
    private let facts: RuleFacts

    /// - Parameter earlier: the state that says what belongs to the user; nil for the same.
    init(_ access: RuledAccess, in state: ServerState, factsOf earlier: ServerState? = nil) {
        self.access = access
        self.state = state
        facts = RuleFacts(of: access.identity, in: earlier ?? state)
    }

    func mayRead(_ className: String, _ row: Row) -> Bool {
        guard let rules = access.rules else { return true }
        guard let declared = rules.classes[className] else { return false }
        if may(.read, className, row) { return true }
        guard declared.isTransitive else { return false }
        let object = RuledObject(className, row, in: state)
        return state.schema.classes.filter { $0.name != className }.contains { source in
            source.properties.filter { $0.type.targetClass == className }.contains { property in
                object.linking(source.name, property.name).contains { mayRead(source.name, $0.row) }
            }
        }
    }

    /// Whether the rule for an action allows it, whatever the others say.
    func may(_ action: RuleAction, _ className: String, _ row: Row) -> Bool {
        guard let rules = access.rules else { return true }
        guard let declared = rules.classes[className] else { return false }
        let condition = declared.conditions[action] ?? (action == .updateAfter ? declared.conditions[.update] : nil)
        return condition.map { holds($0, className, row) } ?? false
    }

    /// Whether a property may be written, as far as it has a rule of its own.
    func mayWrite(_ property: Property, _ className: String, _ row: Row) -> Bool {
        let writes = access.rules?.classes[className]?.writes ?? [:]
        let names = [property.name] + property.formerNames
        return names.allSatisfy { name in writes[name].map { holds($0, className, row) } ?? true }
    }

    /// What an object would make readable by a link, although the user may not read it in this state.
    ///
    /// - Parameters:
    ///   - old: the object before; links that it had make nothing readable that was not.
    ///   - countsMissing: whether what is not there counts, which depends on whether the user may read everything.
    func linkToUnreadable(
        in row: Row, of declared: ClassSchema, replacing old: Row?, countsMissing: Bool
    ) -> String? {
        guard let rules = access.rules else { return nil }
        for (position, property) in declared.properties.enumerated() where !property.isRetired {
            guard let target = property.type.targetClass, target != declared.name,
                rules.classes[target]?.isTransitive ?? false
            else { continue }
            let former = old.map { ServerState.links($0.values[position]) } ?? []
            for key in ServerState.links(row.values[position]) where !former.contains(key) {
                if let known = state.objects(named: target)[key] {
                    if !mayRead(target, known) { return "\(target) \(key)" }
                } else if countsMissing {
                    return "\(target) \(key)"
                }
            }
        }
        return nil
    }

    private func holds(_ condition: RuleCondition, _ className: String, _ row: Row) -> Bool {
        let object = RuledObject(className, row, in: state)
        return condition.holds(RuleSubject(object: object, identity: access.identity, facts: facts)) ?? false
    }
}
