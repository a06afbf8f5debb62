/// Makes the conditions of a context when they are first asked for, and keeps what it has made.
package protocol ReadConditionMaker: AnyObject, Sendable {
    /// The classes that have a condition.
    var readableClasses: Set<Int> { get }

    /// What is readable of a class.
    func readCondition(ofClass classIndex: Int) -> Query?
}

/// The conditions of a context by class.
enum ReadRules: Sendable {
    /// By ascending class. There are few, and a hundred thousand readers may have some each.
    case made([Query])
    case later(any ReadConditionMaker)

    init(_ conditions: [Int: Query]) {
        self = .made(conditions.values.sorted { $0.classIndex < $1.classIndex })
    }

    /// The classes that have a condition.
    var classes: Set<Int> {
        switch self {
        case .made(let conditions): Set(conditions.lazy.map(\.classIndex))
        case .later(let maker): maker.readableClasses
        }
    }

    func hasSameClasses(as other: ReadRules) -> Bool {
        guard case .made(let mine) = self, case .made(let others) = other else { return classes == other.classes }
        return mine.elementsEqual(others) { $0.classIndex == $1.classIndex }
    }

    /// Whether a condition is made when it is first asked for, by whoever has made the context.
    var isBoundLater: Bool { if case .later = self { true } else { false } }

    subscript(classIndex: Int) -> Query? {
        switch self {
        case .made(let conditions): Self.condition(ofClass: classIndex, in: conditions)
        case .later(let maker):
            maker.readableClasses.contains(classIndex) ? maker.readCondition(ofClass: classIndex) : nil
        }
    }

    /// - Complexity: O(log n).
    private static func condition(ofClass classIndex: Int, in conditions: [Query]) -> Query? {
        var range = conditions.indices
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            let found = conditions[middle].classIndex
            if found == classIndex { return conditions[middle] }
            range = found < classIndex ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    /// All conditions by ascending class, which makes those that were not asked for yet.
    var all: [Query] {
        switch self {
        case .made(let conditions): conditions
        case .later(let maker): maker.readableClasses.sorted().compactMap(maker.readCondition)
        }
    }
}
