package import SluiceModel
package import SluiceQuery

/// What to look for: a class, a condition, an order, a limit and exclusions. A value; making one reads nothing and
/// contacts nobody.
public struct QueryDescription<Element: ResultElement>: Sendable {
    private let target: QuerySyntax.Target
    private var predicate: PredicateSyntax?
    private var clauses: [QuerySyntax.Clause] = []
    private var fault: QueryError?

    package init(className: String) {
        target = .objects(className: className)
    }

    /// One object, of whatever class.
    package init(object id: ObjectID) {
        target = .object(id)
    }

    /// A whole query in the query language.
    ///
    /// - Throws: `QueryError` when the text cannot be parsed.
    package init(text: String) throws(QueryError) {
        let syntax = try QuerySyntax.parse(text)
        target = syntax.target
        predicate = syntax.predicate
        clauses = syntax.clauses
    }

    /// The queried class; nil for one object by its id.
    public var className: String? {
        if case .objects(let name, _) = target { name } else { nil }
    }

    /// The query as written so far, unchecked.
    ///
    /// - Throws: `QueryError` when a ``filter(_:_:)`` could not be parsed.
    package func syntax() throws(QueryError) -> QuerySyntax {
        if let fault { throw fault }
        return QuerySyntax(
            target, where: predicate ?? .constant(true), clauses: clauses)
    }

    /// The query checked against a schema, in canonical form.
    package func query(
        in schema: Schema, inverses: InverseNames = InverseNames()
    ) throws(QueryError) -> Query {
        try Query(syntax(), schema: schema, inverses: inverses)
    }

    /// Only what also meets a condition in the query language.
    ///
    /// A text that cannot be parsed is reported by whatever uses the query.
    /// - Parameters:
    ///   - text: a predicate, which `SORT`, `LIMIT` and `EXCLUDE` may follow.
    ///   - arguments: the values of `$0`, `$1` … and, in order, of `%@`; `Link` for an object, an array for a list.
    public func filter(_ text: String, _ arguments: (any PropertyValue)?...) -> QueryDescription {
        filter(text, arguments: arguments)
    }

    package func filter(_ text: String, arguments: [(any PropertyValue)?]) -> QueryDescription {
        do throws(QueryError) {
            let values = arguments.map { $0?.propertyValue ?? .null }
            let parsed = try QuerySyntax.parse(text, className: className, arguments: values)
            return adding(condition: parsed.predicate, clauses: parsed.clauses)
        } catch {
            var description = self
            description.fault = fault ?? error
            return description
        }
    }

    /// In the order of the property at a path such as `dealer.city`.
    public func sorted(by path: String, ascending: Bool = true) -> QueryDescription {
        adding(clauses: [.sort([QuerySyntax.SortSyntax(PathSyntax(dotted: path), isAscending: ascending)])])
    }

    /// One object for each combination of values at these paths: the first in the order so far.
    public func distinct(by paths: String...) -> QueryDescription {
        adding(clauses: [.distinct(paths.map { PathSyntax(dotted: $0) })])
    }

    /// At most so many objects: the first in the order of the query. Linked objects do not count.
    public func limit(_ count: Int) -> QueryDescription { adding(clauses: [.limit(count)]) }

    /// Without the properties at these paths, such as `owners` or `owners.friends`, and what only they lead to.
    public func excluding(_ paths: String...) -> QueryDescription {
        adding(clauses: [.exclude(paths.map { PathSyntax(dotted: $0) })])
    }

    func adding(condition: PredicateSyntax? = nil, clauses: [QuerySyntax.Clause] = []) -> QueryDescription {
        var description = self
        if let condition { description.predicate = predicate.map { $0 && condition } ?? condition }
        description.clauses += clauses
        return description
    }
}

extension QueryDescription {
    /// The condition so far, or another; without one there is nothing to widen.
    func adding(alternative condition: PredicateSyntax) -> QueryDescription {
        var description = self
        description.predicate = predicate.map { $0 || condition }
        return description
    }
}

extension PathSyntax {
    /// Property names joined by dots.
    init(dotted text: String) {
        self.init(text.split(separator: ".", omittingEmptySubsequences: false).map { Component(.property(String($0))) })
    }
}
