internal import SluiceQuery

/// Refining a query by text. Costs nothing: what is wrong with a text or a path is thrown as `QueryError` where the
/// results are used.
///
/// Conditions hold before everything else, wherever they are added. Orders, limits and ``distinct(by:)`` work in the order
/// of the calls, each on what the one before it left.
extension Results {
    /// Only what also meets a condition in the query language, such as `"price < $0", 10_000`.
    ///
    /// - Parameters:
    ///   - text: a condition, which SORT, DISTINCT, LIMIT and EXCLUDE may follow.
    ///   - arguments: what `$0`, `$1` … or, in order, `%@` stand for; a ``Link`` for an object, an array for a list.
    public func filter(_ text: String, _ arguments: (any PropertyValue)?...) -> Results {
        refined { $0.filter(text, arguments: arguments) }
    }

    /// In the order of these keys, the first before all others: `.sorted(by: .descending(\.delay), .ascending(\.name))`.
    /// Objects that are equal in all of them keep the order that was there, at first that of their ids.
    ///
    /// Sorting again refines: the keys follow those that are there. After ``limit(_:)`` or
    /// ``distinct(by:)-(String...)`` it orders what that left. A SORT in the text of ``filter(_:_:)`` is the language's: after another SORT it is the stronger.
    /// - Parameter keys: at most 16 in all. A property that comes twice, ascending and descending, is a `QueryError`.
    public func sorted(by keys: SortKey<Element>...) -> Results { sorted(by: keys) }

    /// In the order of keys that are put together at run time; no key leaves the order as it is.
    public func sorted(by keys: [SortKey<Element>]) -> Results { refined { $0.sorted(by: keys) } }

    /// In the order of the property at a path such as `dealer.city`. Sorting again refines, see
    /// ``sorted(by:)-(SortKey<Element>...)``.
    public func sorted(by path: String, ascending: Bool = true) -> Results {
        sorted(by: ascending ? .ascending(path) : .descending(path))
    }

    /// One object for each combination of values at these paths: the first in the order so far.
    public func distinct(by paths: String...) -> Results {
        refined { $0.adding(clauses: [.distinct(paths.map { PathSyntax(dotted: $0) })]) }
    }

    /// At most so many objects: the first in the order so far, which without sorting is that of their ids. Linked objects
    /// do not count.
    ///
    /// - Parameter count: from 0, which finds nothing; a negative one is a `QueryError`.
    public func limit(_ count: Int) -> Results { refined { $0.adding(clauses: [.limit(count)]) } }

    /// Without the properties at these paths, such as `owners` or `owners.friends`, and what only they lead to.
    public func excluding(_ paths: String...) -> Results {
        refined { $0.adding(clauses: [.exclude(paths.map { PathSyntax(dotted: $0) })]) }
    }
}
