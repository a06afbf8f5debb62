package import SluiceModel
package import SluiceQuery

/// A query under construction: a class, a condition, and the clauses that follow it, unchecked.
package struct QueryDescription<Element: ResultElement>: Sendable {
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
    package var className: String? {
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

    /// Adds a condition in the query language, and the clauses behind it. A text that cannot be parsed makes ``syntax()``
    /// throw.
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

    /// Sorted by these keys, the first before all others.
    ///
    /// What is sorted already is refined: the keys follow those that are there. After a limit or `distinct` they order
    /// what that left.
    package func sorted(by keys: [SortKey<Element>]) -> QueryDescription {
        guard !keys.isEmpty else { return self }
        var description = self
        let position = clauses.lastIndex { if case .exclude = $0 { false } else { true } }
        var order: [QuerySyntax.SortSyntax] = []
        if let position, case .sort(let earlier, _) = clauses[position] {
            order = earlier
            description.clauses.remove(at: position)
        }
        for key in keys.map(\.syntax) {
            if order.contains(where: { $0.isAscending != key.isAscending && $0.path.isWritten(as: key.path) }) {
                description.fault =
                    fault
                    ?? QueryError(
                        .repeatedSortKey,
                        "'\(key.path.text)' is sorted by twice, ascending and descending; the second cannot matter",
                        at: nil)
            }
            order.append(key)
        }
        return description.adding(clauses: [.sort(order)])
    }

    /// Adds a condition, which objects must meet besides what is there, and clauses, which follow those that are there.
    package func adding(condition: PredicateSyntax? = nil, clauses: [QuerySyntax.Clause] = []) -> QueryDescription {
        var description = self
        if let condition { description.predicate = predicate.map { $0 && condition } ?? condition }
        description.clauses += clauses
        return description
    }

    /// The condition so far, or another; without one there is nothing to widen.
    package func adding(alternative condition: PredicateSyntax) -> QueryDescription {
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

extension PathSyntax {
    /// Whether both paths have the same steps.
    fileprivate func isWritten(as other: PathSyntax) -> Bool {
        components.map { "\($0.kind)" } == other.components.map { "\($0.kind)" }
    }

    /// The path for an error message.
    fileprivate var text: String {
        components.map { component in
            switch component.kind {
            case .property(let name), .named(let name): name
            case .operation(let name): "@\(name)"
            case .variable(let name): "$\(name)"
            case .backlink(let className, let property): "@links.\(className).\(property)"
            case .key: "['…']"
            case .index(let index): "[\(index)]"
            }
        }.joined(separator: ".")
    }
}
