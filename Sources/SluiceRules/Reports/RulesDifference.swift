internal import SluiceModel
internal import SluiceQuery

/// One part of a rules file that means something else in another.
package struct RulesDifference: Hashable, Sendable, CustomStringConvertible {
    /// Where it is, such as `classes.Document.read`.
    package let place: String
    /// The part as written; nil if it is not there, which denies.
    package let before: String?
    package let after: String?

    package var description: String {
        switch (before, after) {
        case (nil, let after?): "+ \(place): \(after)"
        case (let before?, nil): "- \(place): \(before)"
        default: "~ \(place): \(before ?? "") → \(after ?? "")"
        }
    }
}

extension RulesFile {
    /// What another file changes, sorted by place. Spelling, blanks, and the order of members and of operands of AND and
    /// OR make no difference.
    package func differences(to other: RulesFile) -> [RulesDifference] {
        let (before, after) = (document.parts, other.document.parts)
        return Set(before.keys).union(after.keys).sorted { UTF8Order.less($0, $1) }.compactMap { place in
            guard before[place]?.meaning != after[place]?.meaning else { return nil }
            return RulesDifference(place: place, before: before[place]?.text, after: after[place]?.text)
        }
    }
}

extension RulesDocument {
    /// All that decides, by place: as written, and in one spelling.
    fileprivate var parts: [String: (text: String, meaning: String)] {
        var parts: [String: (text: String, meaning: String)] = [:]
        func add(_ condition: UserCondition) {
            if case .permissionList = condition.form { return }
            parts[condition.place.path] = (condition.text, condition.meaning)
        }
        for (_, query) in sets { parts[query.place.path] = (query.text, NormalText.query(query.syntax)) }
        for (_, condition) in roles { add(condition) }
        for condition in database.values { add(condition) }
        if let databaseLists { parts[databaseLists.path] = ("true", "true") }
        for (name, rules) in classes {
            if let lists = rules.lists {
                let text = lists.property ?? "true"
                parts[lists.place.path] = (text, "lists \(text)")
            }
            for (action, rule) in rules.rules where rules.lists == nil {
                let isDefault = action == .updateAfter && rules.rules[.update]?.meaning == rule.meaning
                if !isDefault { parts[rule.place.path] = (rule.text, rule.meaning) }
            }
            for (_, field) in rules.fields {
                if let condition = field.read { add(condition) }
                if let rule = field.write { parts[rule.place.path] = (rule.text, rule.meaning) }
            }
            let path = "classes.\(name)"
            if rules.hidesIdentity { parts[path + ".hideIdentity"] = ("true", "true") }
            if rules.isTransitive { parts[path + ".transitive"] = ("true", "true") }
        }
        return parts
    }
}

extension WrittenRule {
    fileprivate var meaning: String {
        switch form {
        case .condition(let predicate): NormalText.predicate(predicate)
        case .channels(let property): "channels \(property)"
        case .objectList(let property): "objectList \(property)"
        }
    }
}

extension UserCondition {
    fileprivate var meaning: String {
        switch form {
        case .condition(let predicate): NormalText.predicate(predicate)
        case .query(let query): NormalText.query(query)
        case .permissionList(let level, let flag): "permission list \(level) \(flag)"
        }
    }
}
