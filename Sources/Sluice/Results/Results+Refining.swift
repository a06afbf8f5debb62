internal import SluiceQuery

/// Refining a query by text. Each call only describes a new query. An error in a text or a path is thrown as
/// `QueryError` where the results are used.
///
/// Conditions apply before everything else, wherever they are added. Orders, limits and ``distinct(by:)`` apply in the
/// order of the calls, each to the objects that the previous one left.
extension Results {
    /// Keeps only the objects that also meet a condition in the query language, such as `"price < $0", 10_000`.
    ///
    /// What is interpolated is a value too: `"price < \(limit)"`. See ``QueryText``.
    ///
    /// - Parameters:
    ///   - text: a condition. SORT, AFTER, BEFORE, DISTINCT, LIMIT, EXCLUDE and TOTAL may follow it.
    ///   - arguments: the values of `$0`, `$1` … or, in order, of each `%@`: a ``Link`` for an object, an array for a
    ///     list.
    public func filter(_ text: QueryText, _ arguments: (any PropertyValue)?...) -> Results {
        refined { $0.filter(text, arguments: arguments) }
    }

    /// Keeps only the objects that meet a condition whose text is only known at run time, as
    /// ``filter(_:_:)-(QueryText,_)``. A text from outside of the program can say what it wants: give values as arguments.
    @_disfavoredOverload
    public func filter<Text: StringProtocol>(_ text: Text, _ arguments: (any PropertyValue)?...) -> Results {
        // Generic, since the compiler would take a `String` for a literal with values as soon as there are arguments.
        refined { $0.filter(QueryText(String(text)), arguments: arguments) }
    }

    /// Sorts by several keys, of which the first comes before all others:
    /// `.sorted(by: .descending(\.delay), .ascending(\.name))`. Objects that are equal in all keys keep the order that
    /// they had, which initially is that of their ids.
    ///
    /// Sorting again refines the order: the new keys follow those that are there. After ``limit(_:)`` or
    /// ``distinct(by:)-(String...)`` a sort orders the objects that are left. A SORT in the text of
    /// ``filter(_:_:)-(QueryText,_)`` follows the rules of the language: after another SORT, its keys come first.
    ///
    /// - Parameter keys: at most 16 in all. A property that occurs both ascending and descending is a `QueryError`.
    public func sorted(by keys: SortKey<Element>...) -> Results { sorted(by: keys) }

    /// Sorts by keys that are known only at run time; without keys the order stays as it is.
    public func sorted(by keys: [SortKey<Element>]) -> Results { refined { $0.sorted(by: keys) } }

    /// Sorts by the property at a path such as `dealer.city`. Sorting again refines the order, see
    /// ``sorted(by:)-(SortKey<Element>...)``.
    public func sorted(by path: String, ascending: Bool = true) -> Results {
        sorted(by: ascending ? .ascending(path) : .descending(path))
    }

    /// Keeps one object for each combination of values at these paths: the first in the current order.
    public func distinct(by paths: String...) -> Results {
        refined { $0.adding(clauses: [.distinct(paths.map { PathSyntax(dotted: $0) })]) }
    }

    /// Keeps at most `count` objects: the first in the current order, which without sorting is that of their ids.
    /// Linked objects do not count.
    ///
    /// - Parameter count: 0 or more; 0 finds nothing. A negative count is a `QueryError`.
    public func limit(_ count: Int) -> Results { refined { $0.adding(clauses: [.limit(count)]) } }

    /// The limit, if it alone says how many of the results there are.
    ///
    /// - Throws: `QueryError`.
    package var growingLimit: Int? { get throws { try query().growingKey.flatMap { _ in try query().limit } } }

    /// The same results with a limit that is greater by some; nil without a ``growingLimit``.
    ///
    /// - Throws: `QueryError`.
    package func growing(by count: Int) throws -> Results? {
        guard let limit = try growingLimit else { return nil }
        let (sum, overflows) = limit.addingReportingOverflow(max(0, count))
        return refined { $0.limited(to: overflows ? .max : sum) }
    }

    /// Also asks how many objects the condition finds, whatever the limit, as in "20 of 12,304": ``Change/total`` and
    /// ``ResultsSnapshot/total``. The server counts them once, and then what comes and goes; each commit brings the results
    /// and the total together.
    ///
    /// After ``distinct(by:)-(String...)``, and where a sort follows a limit, it is a `QueryError`.
    public func withTotal() -> Results { refined { $0.adding(clauses: [.total()]) } }

    /// Leaves out the properties at these paths, such as `owners` or `owners.friends`, and the objects that only they
    /// lead to.
    public func excluding(_ paths: String...) -> Results {
        refined { $0.excluding(paths) }
    }
}
