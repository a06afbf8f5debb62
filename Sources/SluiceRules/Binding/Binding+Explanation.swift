package import SluiceModel
package import SluiceQuery

/// Why an action on one object is allowed or not.
package struct RuleReason: Hashable, Sendable {
    package let isAllowed: Bool
    /// The rule as it holds for the user.
    package let condition: String
    /// The part of the condition's OR that allows the object; nil if none does.
    package let atom: String?
}

extension Binding {
    /// Why an action on one object is allowed or not, by the class's rule for the action alone.
    ///
    /// - Parameter source: the objects as they are, whoever asks.
    package func reason(
        for action: RuleAction, on row: Row, ofClass classIndex: Int, in source: any ObjectSource
    ) throws -> RuleReason {
        guard let condition = condition(of: action, onClass: classIndex) else {
            return RuleReason(isAllowed: false, condition: "FALSEPREDICATE", atom: nil)
        }
        let atom = try condition.atoms.first { try $0.allows(row, in: source) }
        return RuleReason(isAllowed: atom != nil, condition: condition.text, atom: atom?.text)
    }

    /// The rules that judge an action, as they hold for the user, with their names, such as `Document.update` and, of the
    /// properties that are written, `Document.salary.write`.
    ///
    /// - Parameter written: the properties that the action writes.
    package func namedRules(
        for action: RuleAction, onClass classIndex: Int, writing written: PropertySet
    ) -> [(name: String, condition: String)] {
        let declared = reads.schema[classIndex]
        var actions = [action]
        if action == .update, condition(of: .updateAfter, onClass: classIndex)?.text != text(of: .update, classIndex) {
            actions.append(.updateAfter)
        }
        var rules = actions.map { (name: "\(declared.name).\($0.rawValue)", condition: text(of: $0, classIndex)) }
        for property in classes.guardedProperties(ofClass: classIndex) where written.contains(property) {
            let condition = writeCondition(ofProperty: property, ofClass: classIndex)?.text ?? "FALSEPREDICATE"
            rules.append(("\(declared.name).\(declared.properties[property].name).write", condition))
        }
        return rules
    }

    private func text(of action: RuleAction, _ classIndex: Int) -> String {
        condition(of: action, onClass: classIndex)?.text ?? "FALSEPREDICATE"
    }

    /// What the user has and may do, in lines for people. It names the user's derived sets by size, and conditions with
    /// their values: only for those who may read reports.
    package var explanation: [String] {
        var lines = ["roles: " + (roles.isEmpty ? "none" : roles.joined(separator: ", "))]
        let rights = rights.map(\.rawValue).sorted()
        lines.append("rights: " + (rights.isEmpty ? "none" : rights.joined(separator: ", ")))
        for (name, count) in setSizes { lines.append("$user.\(name): \(count) objects") }
        if !isComplete { lines.append("some sets or roles are not known yet, and count as unset") }
        for classIndex in reads.schema.classes.indices where !reads.schema[classIndex].isRetired {
            lines += explanation(ofClass: classIndex)
        }
        return lines
    }

    private func explanation(ofClass classIndex: Int) -> [String] {
        let declared = reads.schema[classIndex]
        guard classes.has(classIndex) else { return ["\(declared.name): no rules, so nothing is allowed"] }
        var lines = RuleAction.allCases.map { action in
            let text = classes.condition(of: action, onClass: classIndex)?.text ?? "FALSEPREDICATE"
            return "\(declared.name).\(action.rawValue): \(text.count > 400 ? text.prefix(400) + "…" : text[...])"
        }
        for property in classes.guardedProperties(ofClass: classIndex) {
            guard let condition = classes.writeCondition(ofProperty: property, ofClass: classIndex) else { continue }
            lines.append("\(declared.name).\(declared.properties[property].name): written where \(condition.text)")
        }
        for (position, property) in declared.properties.enumerated()
        where classes.veil(ofClass: classIndex).properties.contains(position) {
            lines.append("\(declared.name).\(property.name): hidden")
        }
        return lines
    }
}

extension BoundCondition {
    /// The condition without its class.
    package var text: String {
        let prefix = query.className + " WHERE "
        let text = query.canonicalText
        return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : "TRUEPREDICATE"
    }
}
