package import SluiceModel
internal import SluiceQuery

extension Binding {
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
}

extension BoundCondition {
    /// The condition without its class.
    package var text: String {
        let prefix = query.className + " WHERE "
        let text = query.canonicalText
        return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : "TRUEPREDICATE"
    }
}
