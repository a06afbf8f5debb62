internal import SluiceQuery
internal import Synchronization

/// Conditions on the objects that a collection of links leads to.
extension Column where Value: PropertyCollection & LinkPath {
    /// The number of objects of the collection that meet a condition of their own:
    /// `$0.owners.count { $0.age > 60 } > 1`.
    public func count(where condition: (Column<Value.LinkTarget>) -> Condition) -> Column<Int> {
        let variable = SubqueryVariables.next()
        let element = Column<Value.LinkTarget>(PathSyntax([.init(.variable(variable))]))
        return Column<Int>(.subquery(SubquerySyntax(columnPath, variable, condition(element).syntax)))
    }

    /// A condition that holds when one object of the collection meets all of the given condition.
    public func contains(where condition: (Column<Value.LinkTarget>) -> Condition) -> Condition {
        count(where: condition) > 0
    }

    /// A condition that holds when every object of the collection meets the given condition, and when there are none.
    public func allSatisfy(_ condition: (Column<Value.LinkTarget>) -> Condition) -> Condition {
        count { !condition($0) } == 0
    }
}

/// Makes names for the elements of subqueries; no two names of a process are equal.
private enum SubqueryVariables {
    private static let count = Atomic<UInt64>(0)

    static func next() -> String { "element\(count.add(1, ordering: .relaxed).newValue)" }
}
