internal import SluiceModel
internal import SluiceQuery
internal import Synchronization

/// What is bound of the rules of classes. A condition is made when it is first asked for, since most users never touch
/// most classes.
final class BoundClasses: Sendable {
    /// Few bytes: a hundred thousand users may have some each.
    private enum Key: Hashable {
        case action(RuleAction, classIndex: Int32)
        case property(Int32, classIndex: Int32)
        case grant(PermissionFlag, classIndex: Int32)
    }

    let rules: Rules
    private let values: BoundValues
    private let veils: [Int: ReadVeil]
    private let known = Mutex(SmallMap<Key, BoundCondition>())

    /// - Parameters:
    ///   - values: the values of all variables that rules name.
    ///   - veils: what is hidden, by class.
    init(_ rules: Rules, _ values: BoundValues, _ veils: [Int: ReadVeil]) {
        self.rules = rules
        self.values = values
        self.veils = veils
    }

    /// Whether a class has rules.
    func has(_ classIndex: Int) -> Bool { rules.classes[classIndex] != nil }

    /// What an action needs; for a class or an action without a rule a condition that allows nothing, and nil for a class
    /// that the schema lacks.
    func condition(of action: RuleAction, onClass classIndex: Int) -> BoundCondition? {
        let bound = bound(.action(action, classIndex: Int32(classIndex))) {
            rules.classes[classIndex]?.condition(of: action, values)
        }
        return bound ?? denial(ofClass: classIndex)
    }

    /// What writing a property needs; nil if it has no rule of its own. Who may not read a property writes it only where
    /// such a rule says so.
    func writeCondition(ofProperty property: Int, ofClass classIndex: Int) -> BoundCondition? {
        let bound = bound(.property(Int32(property), classIndex: Int32(classIndex))) {
            rules.classes[classIndex]?.condition(onProperty: property, values)
        }
        return bound ?? (veil(ofClass: classIndex).properties.contains(property) ? denial(ofClass: classIndex) : nil)
    }

    /// What having a flag of an object with a permission list needs; nil if the class has no such lists.
    func grant(_ flag: PermissionFlag, ofClass classIndex: Int) -> BoundCondition? {
        bound(.grant(flag, classIndex: Int32(classIndex))) {
            rules.classes[classIndex]?.condition(onGranting: flag, values)
        }
    }

    /// The properties whose writing needs something of its own, ascending.
    func guardedProperties(ofClass classIndex: Int) -> [Int] {
        Set(rules.classes[classIndex]?.writtenProperties ?? []).union(veil(ofClass: classIndex).properties).sorted()
    }

    func veil(ofClass classIndex: Int) -> ReadVeil { veils[classIndex] ?? ReadVeil() }

    /// How many conditions were made so far.
    var madeCount: Int { known.withLock { $0.entries.count(where: \.element.isMade) } }

    private func denial(ofClass classIndex: Int) -> BoundCondition? {
        rules.never.indices.contains(classIndex) ? rules.never[classIndex] : nil
    }

    private func bound(_ key: Key, _ make: () -> BoundCondition?) -> BoundCondition? {
        known.withLock { known in
            if let condition = known[key] { return condition }
            guard let made = make() else { return nil }
            known.append(key, made)
            return made
        }
    }
}

extension BoundClasses: ReadConditionMaker {
    var readableClasses: Set<Int> { rules.readable }

    func readCondition(ofClass classIndex: Int) -> Query? { condition(of: .read, onClass: classIndex)?.query }
}
