internal import SluiceQuery

/// Refining a query by a model's properties. Each call only describes a new query. An error is thrown as `QueryError`
/// where the results are used.
extension Results where Element: Model {
    /// Keeps only the objects that also meet a condition, such as `{ $0.price < 10_000 && $0.name == "Toyota" }`.
    public func `where`(_ condition: (Column<Element>) -> Condition) -> Results {
        refined { $0.adding(condition) }
    }

    /// Adds the objects that meet another condition to those that meet the condition so far.
    public func or(_ condition: (Column<Element>) -> Condition) -> Results {
        let condition = condition(Column(Element.self)).syntax
        return refined { $0.adding(alternative: condition) }
    }

    /// Sorts by a property, such as `\.price` or, through a link, `\.dealer.city`. Sorting again refines the order, see
    /// ``sorted(by:)-(SortKey<Element>...)``.
    public func sorted<Value>(by path: KeyPath<Column<Element>, Column<Value>>, ascending: Bool = true) -> Results {
        sorted(by: ascending ? .ascending(path) : .descending(path))
    }

    /// Sorts by several properties, ascending, of which the first comes before all others:
    /// `.sorted(by: \.city, \.name)`. Sorting again refines the order, see ``sorted(by:)-(SortKey<Element>...)``.
    public func sorted<First, Second, each Other>(
        by first: KeyPath<Column<Element>, Column<First>>, _ second: KeyPath<Column<Element>, Column<Second>>,
        _ others: repeat KeyPath<Column<Element>, Column<each Other>>
    ) -> Results {
        var keys: [SortKey<Element>] = [.ascending(first), .ascending(second)]
        for other in repeat each others { keys.append(.ascending(other)) }
        return sorted(by: keys)
    }

    /// Keeps one object for each value, or combination of values, of these properties: the first in the current order.
    public func distinct<each Value>(by path: repeat KeyPath<Column<Element>, Column<each Value>>) -> Results {
        let paths = Column<Element>.paths(repeat each path)
        return refined { $0.adding(clauses: [.distinct(paths)]) }
    }

    /// Leaves out properties, such as `\.owners` or `\.owners.friends`, and the objects that only they lead to.
    public func excluding<each Value>(_ path: repeat KeyPath<Column<Element>, Column<each Value>>) -> Results {
        let paths = Column<Element>.paths(repeat each path)
        return refined { $0.adding(clauses: [.exclude(paths)]) }
    }
}

extension Results where Element: Model {
    /// Keeps only the objects that also have a true Boolean property, such as `{ $0.isNew }`.
    public func `where`<Value: TruthValue>(_ property: (Column<Element>) -> Column<Value>) -> Results {
        self.where { property($0).isTrue }
    }

    /// Adds the objects with a true Boolean property to those that meet the condition so far.
    public func or<Value: TruthValue>(_ property: (Column<Element>) -> Column<Value>) -> Results {
        self.or { property($0).isTrue }
    }
}
