package import SluiceQuery

/// One key of a sort order: a property, ascending or descending.
///
/// ```swift
/// flights.sorted(by: .descending(\.delay), .ascending(\.carrier.name))
/// ```
///
/// In ascending order null comes first and NaN last; descending order reverses both.
public struct SortKey<Element: ResultElement>: Sendable {
    package let syntax: QuerySyntax.SortSyntax

    private init(_ path: PathSyntax, isAscending: Bool) {
        syntax = QuerySyntax.SortSyntax(path, isAscending: isAscending)
    }

    /// Sorts by the property, least value first.
    ///
    /// - Parameter path: property names joined by dots, such as `dealer.city`.
    public static func ascending(_ path: String) -> SortKey { SortKey(PathSyntax(dotted: path), isAscending: true) }

    /// Sorts by the property, greatest value first.
    ///
    /// - Parameter path: property names joined by dots, such as `dealer.city`.
    public static func descending(_ path: String) -> SortKey { SortKey(PathSyntax(dotted: path), isAscending: false) }
}

extension SortKey where Element: Model {
    /// Sorts by the property, least value first.
    ///
    /// - Parameter path: a property, such as `\.price`, or one behind links to one object, such as `\.dealer.city`.
    public static func ascending<Value>(_ path: KeyPath<Column<Element>, Column<Value>>) -> SortKey {
        SortKey(Column(Element.self)[keyPath: path].columnPath, isAscending: true)
    }

    /// Sorts by the property, greatest value first.
    ///
    /// - Parameter path: a property, such as `\.price`, or one behind links to one object, such as `\.dealer.city`.
    public static func descending<Value>(_ path: KeyPath<Column<Element>, Column<Value>>) -> SortKey {
        SortKey(Column(Element.self)[keyPath: path].columnPath, isAscending: false)
    }
}
