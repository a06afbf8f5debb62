internal import SluiceModel
internal import SluiceQuery
internal import Synchronization

/// What is bound of the rules of classes. A condition is made when it is first asked for, since most users never touch
/// most classes.
final class BoundClasses: Sendable {
    private enum Place: Hashable {
        case action(RuleAction, classIndex: Int)
        case property(Int, classIndex: Int)
        case grant(PermissionFlag, classIndex: Int)
    }

    private let compiled: [Int: CompiledClass]
    private let values: BoundValues
    private let veils: [Int: ReadVeil]
    private let never: [BoundCondition?]
    private let known = Mutex<[Place: BoundCondition]>([:])

    /// - Parameters:
    ///   - values: the values of all variables that rules name.
    ///   - veils: what is hidden, by class.
    ///   - never: a condition for each class that allows nothing.
    init(
        _ compiled: [Int: CompiledClass], _ values: BoundValues, _ veils: [Int: ReadVeil],
        never: [BoundCondition?]
    ) {
        self.compiled = compiled
        self.values = values
        self.veils = veils
        self.never = never
    }

    /// Whether a class has rules.
    func has(_ classIndex: Int) -> Bool { compiled[classIndex] != nil }

    /// What an action needs; for a class or an action without a rule a condition that allows nothing, and nil for a class
    /// that the schema lacks.
    func condition(of action: RuleAction, onClass classIndex: Int) -> BoundCondition? {
        bound(.action(action, classIndex: classIndex)) { compiled[classIndex]?.condition(of: action, values) }
            ?? denial(ofClass: classIndex)
    }

    /// What writing a property needs; nil if it has no rule of its own. Who may not read a property writes it only where
    /// such a rule says so.
    func writeCondition(ofProperty property: Int, ofClass classIndex: Int) -> BoundCondition? {
        let bound = bound(.property(property, classIndex: classIndex)) {
            compiled[classIndex]?.condition(onProperty: property, values)
        }
        return bound ?? (veil(ofClass: classIndex).properties.contains(property) ? denial(ofClass: classIndex) : nil)
    }

    /// What having a flag of an object with a permission list needs; nil if the class has no such lists.
    func grant(_ flag: PermissionFlag, ofClass classIndex: Int) -> BoundCondition? {
        bound(.grant(flag, classIndex: classIndex)) { compiled[classIndex]?.condition(onGranting: flag, values) }
    }

    /// The properties whose writing needs something of its own, ascending.
    func guardedProperties(ofClass classIndex: Int) -> [Int] {
        Set(compiled[classIndex]?.writtenProperties ?? []).union(veil(ofClass: classIndex).properties).sorted()
    }

    func veil(ofClass classIndex: Int) -> ReadVeil { veils[classIndex] ?? ReadVeil() }

    /// How many conditions were made so far.
    var madeCount: Int { known.withLock { $0.values.count(where: \.isMade) } }

    private func denial(ofClass classIndex: Int) -> BoundCondition? {
        never.indices.contains(classIndex) ? never[classIndex] : nil
    }

    private func bound(_ place: Place, _ make: () -> BoundCondition?) -> BoundCondition? {
        known.withLock { known in
            if let condition = known[place] { return condition }
            guard let made = make() else { return nil }
            known[place] = made
            return made
        }
    }
}
