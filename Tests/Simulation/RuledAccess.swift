import SluiceModel
import SluiceRules
import TestSupport

/// What a user may do: the rules, and who it is. Without rules everybody may do everything.
struct RuledAccess {
    let rules: SimulatedRules?
    let identity: SimulatedIdentity

    /// Equal for equal accesses.
    var name: String { "rules \(rules?.number ?? 0) for \(identity)" }

    /// Whether objects of a class have links that may make what they lead to readable.
    func hasRevealingLinks(_ declared: ClassSchema) -> Bool {
        declared.properties.contains { property in
            guard !property.isRetired, let target = property.type.targetClass, target != declared.name else {
                return false
            }
            return rules?.classes[target]?.isTransitive ?? false
        }
    }

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
            let former = old.map { $0.values[position].linkedKeys } ?? []
            for key in row.values[position].linkedKeys where !former.contains(key) {
                if let known = state.objects(named: target)[key] {
                    if !mayRead(target, known) { return "\(target) \(key)" }
                } else if countsMissing {
                    return "\(target) \(key)"
                }
            }
        }
        return nil
    }

    private func holds(_ condition: RuleCondition<RuleSubject>, _ className: String, _ row: Row) -> Bool {
        let object = RuledObject(className, row, in: state)
        return condition.holds(RuleSubject(object: object, identity: access.identity, facts: facts)) ?? false
    }
}
