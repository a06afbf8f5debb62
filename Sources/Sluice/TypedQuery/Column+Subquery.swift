internal import SluiceQuery
internal import Synchronization

/// A collection of links, with a condition on the objects that they lead to.
extension Column where Value: PropertyCollection & LinkPath {
    /// How many objects of the collection meet a condition of their own: `$0.owners.count { $0.age > 60 } > 1`.
    public func count(where condition: (Column<Value.LinkTarget>) -> Condition) -> Column<Int> {
        let variable = SubqueryVariables.next()
        let element = Column<Value.LinkTarget>(PathSyntax([.init(.variable(variable))]))
        return Column<Int>(.subquery(SubquerySyntax(columnPath, variable, condition(element).syntax)))
    }

    /// Some object of the collection meets a condition, all of which is asked of one and the same object.
    public func contains(where condition: (Column<Value.LinkTarget>) -> Condition) -> Condition {
        count(where: condition) > 0
    }

    /// Every object of the collection meets a condition; true where there is none.
    public func allSatisfy(_ condition: (Column<Value.LinkTarget>) -> Condition) -> Condition {
        count { !condition($0) } == 0
    }
}

/// Names for the elements that subqueries speak of; no two of a process are the same.
private enum SubqueryVariables {
    private static let count = Atomic<UInt64>(0)

    static func next() -> String { "element\(count.add(1, ordering: .relaxed).newValue)" }
}
