/// The conditions of a context by class.
struct ReadRules: Sendable {
    /// The classes that have a condition.
    let classes: Set<Int>
    /// Whether a condition is made when it is first asked for, by whoever has made the context.
    let isBoundLater: Bool
    private let find: @Sendable (Int) -> Query?

    init(_ conditions: [Int: Query]) {
        classes = Set(conditions.keys)
        isBoundLater = false
        find = { conditions[$0] }
    }

    /// - Parameter condition: keeps what it has made.
    init(_ classes: Set<Int>, _ condition: @escaping @Sendable (Int) -> Query?) {
        self.classes = classes
        isBoundLater = true
        find = condition
    }

    subscript(classIndex: Int) -> Query? { classes.contains(classIndex) ? find(classIndex) : nil }

    /// All conditions, which makes those that were not asked for yet.
    var all: [Int: Query] {
        var all: [Int: Query] = [:]
        for classIndex in classes { all[classIndex] = find(classIndex) }
        return all
    }
}
