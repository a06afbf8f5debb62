package import SluiceQuery

/// One key of an order: a property, ascending or descending.
///
/// ```swift
/// flights.sorted(by: .descending(\.delay), .ascending(\.carrier.name))
/// ```
///
/// Null comes before every value and NaN after; descending reverses both.
public struct SortKey<Element: ResultElement>: Sendable {
    package let syntax: QuerySyntax.SortSyntax

    private init(_ path: PathSyntax, isAscending: Bool) {
        syntax = QuerySyntax.SortSyntax(path, isAscending: isAscending)
    }

    /// The least value first.
    ///
    /// - Parameter path: property names joined by dots, such as `dealer.city`.
    public static func ascending(_ path: String) -> SortKey { SortKey(PathSyntax(dotted: path), isAscending: true) }

    /// The greatest value first.
    ///
    /// - Parameter path: property names joined by dots, such as `dealer.city`.
    public static func descending(_ path: String) -> SortKey { SortKey(PathSyntax(dotted: path), isAscending: false) }
}

extension SortKey where Element: Model {
    /// The least value first.
    ///
    /// - Parameter path: a property, such as `\.price`, or one behind links to one object, such as `\.dealer.city`.
    public static func ascending<Value>(_ path: KeyPath<Column<Element>, Column<Value>>) -> SortKey {
        SortKey(Column(Element.self)[keyPath: path].columnPath, isAscending: true)
    }

    /// The greatest value first.
    ///
    /// - Parameter path: a property, such as `\.price`, or one behind links to one object, such as `\.dealer.city`.
    public static func descending<Value>(_ path: KeyPath<Column<Element>, Column<Value>>) -> SortKey {
        SortKey(Column(Element.self)[keyPath: path].columnPath, isAscending: false)
    }
}
