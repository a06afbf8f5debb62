public import SluiceQuery

extension QueryDescription where Element: Model {
    /// Every object of a model's class.
    public init(_ element: Element.Type) {
        self.init(className: Element.className)
    }

    /// Only what also meets a condition, such as `{ $0.name == "Toyota" && $0.dealer.city == "Ulm" }`.
    public func `where`(_ condition: (Column<Element>) -> PredicateSyntax) -> QueryDescription {
        adding(condition: condition(Column(Element.self)))
    }

    /// What also meets another condition: the same as a further `where`, as a name for queries put together at run time.
    public func and(_ condition: (Column<Element>) -> PredicateSyntax) -> QueryDescription { self.where(condition) }

    /// What meets the condition so far, or another one.
    public func or(_ condition: (Column<Element>) -> PredicateSyntax) -> QueryDescription {
        adding(alternative: condition(Column(Element.self)))
    }

    /// One object for each value, or combination of values, of these properties: the first in the order so far.
    public func distinct<each Value: PropertyValue>(
        by path: repeat KeyPath<Column<Element>, Column<each Value>>
    ) -> QueryDescription {
        var paths: [PathSyntax] = []
        for path in repeat each path { paths.append(Column(Element.self)[keyPath: path].columnPath) }
        return adding(clauses: [.distinct(paths)])
    }

    /// In the order of a property, such as `\.price` or, through a link, `\.dealer.city`.
    public func sorted<Value: PropertyValue>(
        by path: KeyPath<Column<Element>, Column<Value>>, ascending: Bool = true
    ) -> QueryDescription {
        let column = Column(Element.self)[keyPath: path]
        return adding(clauses: [.sort([QuerySyntax.SortSyntax(column.columnPath, isAscending: ascending)])])
    }

    /// Without a property, such as `\.owners` or `\.owners.friends`, and what only it leads to.
    public func excluding<each Value: PropertyValue>(
        _ path: repeat KeyPath<Column<Element>, Column<each Value>>
    ) -> QueryDescription {
        var paths: [PathSyntax] = []
        for path in repeat each path { paths.append(Column(Element.self)[keyPath: path].columnPath) }
        return adding(clauses: [.exclude(paths)])
    }
}
