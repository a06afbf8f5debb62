internal import SluiceModel
internal import SluiceQuery
internal import Synchronization

/// What is bound of the rules of classes. A condition is made when it is first asked for, since most users never touch
/// most classes.
final class BoundClasses: Sendable {
    private enum Subject: Equatable {
        case action(RuleAction)
        case property(Int32)
        case grant(PermissionFlag)
    }

    /// Few bytes: a hundred thousand users may have some each.
    private struct Entry {
        let classIndex: Int32
        let subject: Subject
        let condition: BoundCondition
    }

    let rules: Rules
    private let values: BoundValues
    private let veils: [Int: ReadVeil]
    /// The conditions made so far, in the order of their classes.
    private let known = Mutex<[Entry]>([])

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
        let bound = bound(.action(action), classIndex) {
            rules.classes[classIndex]?.condition(of: action, values)
        }
        return bound ?? denial(ofClass: classIndex)
    }

    /// What writing a property needs; nil if it has no rule of its own. Who may not read a property writes it only where
    /// such a rule says so.
    func writeCondition(ofProperty property: Int, ofClass classIndex: Int) -> BoundCondition? {
        let bound = bound(.property(Int32(property)), classIndex) {
            rules.classes[classIndex]?.condition(onProperty: property, values)
        }
        return bound ?? (veil(ofClass: classIndex).properties.contains(property) ? denial(ofClass: classIndex) : nil)
    }

    /// What having a flag of an object with a permission list needs; nil if the class has no such lists.
    func grant(_ flag: PermissionFlag, ofClass classIndex: Int) -> BoundCondition? {
        bound(.grant(flag), classIndex) {
            rules.classes[classIndex]?.condition(onGranting: flag, values)
        }
    }

    /// The properties whose writing needs something of its own, ascending.
    func guardedProperties(ofClass classIndex: Int) -> [Int] {
        Set(rules.classes[classIndex]?.writtenProperties ?? []).union(veil(ofClass: classIndex).properties).sorted()
    }

    func veil(ofClass classIndex: Int) -> ReadVeil { veils[classIndex] ?? ReadVeil() }

    /// How many conditions were made so far.
    var madeCount: Int { known.withLock { $0.count(where: \.condition.isMade) } }

    private func denial(ofClass classIndex: Int) -> BoundCondition? {
        rules.never.indices.contains(classIndex) ? rules.never[classIndex] : nil
    }

    private func bound(
        _ subject: Subject, _ classIndex: Int, _ make: () -> BoundCondition?
    ) -> BoundCondition? {
        known.withLock { known in
            var position = Self.start(ofClass: classIndex, in: known)
            while position < known.count, known[position].classIndex == classIndex {
                if known[position].subject == subject { return known[position].condition }
                position += 1
            }
            guard let made = make() else { return nil }
            known.insert(Entry(classIndex: Int32(classIndex), subject: subject, condition: made), at: position)
            return made
        }
    }

    /// The position of the first condition of a class or one behind it.
    private static func start(ofClass classIndex: Int, in entries: [Entry]) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].classIndex < classIndex { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension BoundClasses: ReadConditionMaker {
    var readableClasses: Set<Int> { rules.readable }

    func readCondition(ofClass classIndex: Int) -> Query? { condition(of: .read, onClass: classIndex)?.query }
}
