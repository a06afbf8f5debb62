package import SluiceModel
package import SluiceQuery

/// A query under construction: a class, a condition and the clauses that follow it, not checked yet.
package struct QueryDescription<Element: ResultElement>: Sendable {
    private let target: QuerySyntax.Target
    /// The key of the one object that is queried; nil for a query over a class.
    private var key: ObjectKey?
    private var predicate: PredicateSyntax?
    private var clauses: [QuerySyntax.Clause] = []
    private var fault: QueryError?

    package init(className: String) {
        target = .objects(className: className)
    }

    /// A query of one object, of any class.
    package init(object id: ObjectID) {
        target = .object(id)
    }

    /// A query of one object by its class and key. The server finds it by its key, without an index of object ids.
    package init(className: String, key: ObjectKey) {
        if case .id(let id) = key {
            target = .object(id)
        } else {
            target = .objects(className: className)
            self.key = key
        }
    }

    /// Parses a whole query in the query language.
    ///
    /// - Throws: `QueryError` when the text cannot be parsed.
    package init(text: QueryText) throws(QueryError) {
        let (text, values) = try text.rendered()
        let syntax = try QuerySyntax.parse(text, arguments: values, interpolated: values.indices)
        target = syntax.target
        predicate = syntax.predicate
        clauses = syntax.clauses
    }

    /// The queried class; nil for a query of one object by its id.
    package var className: String? {
        if case .objects(let name, _) = target { name } else { nil }
    }

    /// The query so far, not checked.
    ///
    /// - Throws: `QueryError` when a ``filter(_:_:)`` could not be parsed.
    package func syntax() throws(QueryError) -> QuerySyntax {
        if let fault { throw fault }
        return QuerySyntax(
            target, where: predicate ?? .constant(true), clauses: clauses)
    }

    /// Checks the query against a schema, and brings it into canonical form.
    package func query(
        in schema: Schema, inverses: InverseNames = InverseNames()
    ) throws(QueryError) -> Query {
        var syntax = try syntax()
        if let className, let condition = keyCondition(in: schema.index(of: className).map { schema[$0] }) {
            syntax.predicate = predicate.map { condition && $0 } ?? condition
        }
        return try Query(syntax, schema: schema, inverses: inverses)
    }

    /// The condition that only the object with the key meets; nil for a query over a class that exists or not.
    private func keyCondition(in declared: ClassSchema?) -> PredicateSyntax? {
        guard let key, let declared else { return nil }
        // A class has no object with a key of another type.
        guard declared.accepts(key), let property = declared.primaryKeyIndex else { return .constant(false) }
        return .comparison(
            ComparisonSyntax(
                .path(PathSyntax(dotted: declared.properties[property].name)), .equal,
                .literal(LiteralSyntax(.value(key.value)))))
    }

    /// Adds a condition in the query language and the clauses that follow it. If the text cannot be parsed,
    /// ``syntax()`` throws.
    package func filter(_ text: QueryText, arguments: [(any PropertyValue)?]) -> QueryDescription {
        do throws(QueryError) {
            let (text, interpolated) = try text.rendered(after: arguments.count)
            let values: [Value] = arguments.map { $0?.propertyValue ?? .null } + interpolated
            let parsed = try QuerySyntax.parse(
                text, className: className, arguments: values, interpolated: arguments.count..<values.count)
            return adding(condition: parsed.predicate, clauses: parsed.clauses)
        } catch {
            var description = self
            description.fault = fault ?? error
            return description
        }
    }

    /// Sorts by these keys, of which the first comes before all others.
    ///
    /// An existing order is refined: the new keys follow the keys that are there. After a limit or `distinct` the keys
    /// order the objects that are left.
    package func sorted(by keys: [SortKey<Element>]) -> QueryDescription {
        guard !keys.isEmpty else { return self }
        var description = self
        let position = clauses.lastIndex { clause in
            switch clause {
            case .exclude, .total, .aggregate, .group: false
            case .sort, .limit, .distinct, .place: true
            }
        }
        var order: [QuerySyntax.SortSyntax] = []
        if let position, case .sort(let earlier, _) = clauses[position] {
            order = earlier
            description.clauses.remove(at: position)
        }
        order += keys.map(\.syntax)
        return description.adding(clauses: [.sort(order)])
    }

    /// Leaves out the properties at these paths.
    package func excluding(_ paths: [String]) -> QueryDescription {
        adding(clauses: [.exclude(paths.map { PathSyntax(dotted: $0) })])
    }

    /// Keeps so many of the first results, whatever limits there are.
    package func limited(to count: Int) -> QueryDescription {
        var description = self
        description.clauses.removeAll { if case .limit = $0 { true } else { false } }
        description.clauses.append(.limit(count))
        return description
    }

    /// Takes the results from one side of a place, before a limit chooses among them.
    package func adding(_ side: QuerySyntax.PlaceSide, _ values: [LiteralSyntax]) -> QueryDescription {
        var description = self
        let position = clauses.firstIndex { clause in
            switch clause {
            case .limit, .distinct: true
            case .sort, .exclude, .total, .place, .aggregate, .group: false
            }
        }
        description.clauses.insert(.place(side, values), at: position ?? clauses.count)
        return description
    }

    /// Adds a condition, which objects must meet in addition, and clauses, which follow the existing ones.
    package func adding(condition: PredicateSyntax? = nil, clauses: [QuerySyntax.Clause] = []) -> QueryDescription {
        var description = self
        if let condition { description.predicate = predicate.map { $0 && condition } ?? condition }
        description.clauses += clauses
        return description
    }

    /// Adds an alternative to the condition so far. A query without a condition finds everything already and stays as
    /// it is.
    package func adding(alternative condition: PredicateSyntax) -> QueryDescription {
        var description = self
        description.predicate = predicate.map { $0 || condition }
        return description
    }
}

extension QueryDescription where Element: Model {
    /// Adds a condition by the model's properties.
    package func adding(_ condition: (Column<Element>) -> Condition) -> QueryDescription {
        adding(condition: condition(Column(Element.self)).syntax)
    }
}

extension PathSyntax {
    /// Makes a path from property names joined by dots.
    init(dotted text: String) {
        self.init(text.split(separator: ".", omittingEmptySubsequences: false).map { Component(.property(String($0))) })
    }
}
