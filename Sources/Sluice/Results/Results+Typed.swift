internal import SluiceQuery

/// Refining a query by a model's properties. Costs nothing: what is wrong is thrown as `QueryError` where the results are
/// used.
extension Results where Element: Model {
    /// Only what also meets a condition, such as `{ $0.price < 10_000 && $0.name == "Toyota" }`.
    public func `where`(_ condition: (Column<Element>) -> Condition) -> Results {
        let condition = condition(Column(Element.self)).syntax
        return refined { $0.adding(condition: condition) }
    }

    /// What meets the condition so far, or another one.
    public func or(_ condition: (Column<Element>) -> Condition) -> Results {
        let condition = condition(Column(Element.self)).syntax
        return refined { $0.adding(alternative: condition) }
    }

    /// In the order of a property, such as `\.price` or, through a link, `\.dealer.city`. Sorting again refines, see
    /// ``sorted(by:)-(SortKey<Element>...)``.
    public func sorted<Value>(by path: KeyPath<Column<Element>, Column<Value>>, ascending: Bool = true) -> Results {
        sorted(by: ascending ? .ascending(path) : .descending(path))
    }

    /// In the ascending order of several properties, the first before all others: `.sorted(by: \.city, \.name)`. Sorting
    /// again refines, see ``sorted(by:)-(SortKey<Element>...)``.
    public func sorted<First, Second, each Other>(
        by first: KeyPath<Column<Element>, Column<First>>, _ second: KeyPath<Column<Element>, Column<Second>>,
        _ others: repeat KeyPath<Column<Element>, Column<each Other>>
    ) -> Results {
        var keys: [SortKey<Element>] = [.ascending(first), .ascending(second)]
        for other in repeat each others { keys.append(.ascending(other)) }
        return sorted(by: keys)
    }

    /// One object for each value, or combination of values, of these properties: the first in the order so far.
    public func distinct<each Value>(by path: repeat KeyPath<Column<Element>, Column<each Value>>) -> Results {
        let paths = Self.paths(repeat each path)
        return refined { $0.adding(clauses: [.distinct(paths)]) }
    }

    /// Without properties, such as `\.owners` or `\.owners.friends`, and what only they lead to.
    public func excluding<each Value>(_ path: repeat KeyPath<Column<Element>, Column<each Value>>) -> Results {
        let paths = Self.paths(repeat each path)
        return refined { $0.adding(clauses: [.exclude(paths)]) }
    }

    private static func paths<each Value>(
        _ path: repeat KeyPath<Column<Element>, Column<each Value>>
    ) -> [PathSyntax] {
        var paths: [PathSyntax] = []
        for path in repeat each path { paths.append(Column(Element.self)[keyPath: path].columnPath) }
        return paths
    }
}
