internal import SluiceModel
internal import SluiceQuery

/// Makes checked queries of conditions and the values of their variables.
struct ConditionBinder {
    let schema: Schema
    let value: (VariableSyntax) -> RuleValue

    /// A query with its variables replaced. Lists may be longer than those of a client's query.
    ///
    /// - Returns: nil if the query does not fit the schema, whatever the values are.
    func query(_ syntax: QuerySyntax) -> Query? {
        var bound = syntax
        bound.predicate = Substitution(value: value).predicate(syntax.predicate)
        if let query = checked(bound) { return query }
        // A value may be of another type than what it is compared with: then that comparison never matches.
        let substitution = Substitution(value: value) { fits($0, syntax.target) }
        bound.predicate = substitution.predicate(syntax.predicate)
        return checked(bound)
    }

    private func fits(_ comparison: ComparisonSyntax, _ target: QuerySyntax.Target) -> Bool {
        do throws(QueryError) {
            _ = try Query(QuerySyntax(target, where: .comparison(comparison)), schema: schema, isLimited: false)
            return true
        } catch {
            return error.code == .unknownClass || error.code == .unknownProperty
        }
    }

    /// `ANY` before a path to one value is refused in general; here a condition may not know how many there are.
    private func checked(_ syntax: QuerySyntax) -> Query? {
        (try? Query(syntax, schema: schema, isLimited: false))
            ?? (try? Query(syntax.withoutQuantifierOfExistence, schema: schema, isLimited: false))
    }
}

extension QuerySyntax {
    /// The query of an existence without the ANY that its path may not need; see
    /// ``ComparisonSyntax/existenceQuery``.
    fileprivate var withoutQuantifierOfExistence: QuerySyntax {
        guard clauses.count == 1, case .comparison(var comparison) = predicate, case .path(var path) = comparison.left
        else { return self }
        path.quantifier = nil
        comparison.left = .path(path)
        var query = self
        query.predicate = .comparison(comparison)
        return query
    }
}

/// Judges comparisons of constants alone.
enum ConstantCondition {
    /// - Returns: nil if the constants do not go together.
    static func isTrue(_ predicate: PredicateSyntax) -> Bool? {
        guard let query = try? query(predicate) else { return nil }
        return query.isOfWholeClass ? true : query.isOfNothing ? false : nil
    }

    /// - Throws: ``QueryError`` when the constants do not go together.
    static func check(_ predicate: PredicateSyntax) throws(QueryError) { _ = try query(predicate) }

    private static func query(_ predicate: PredicateSyntax) throws(QueryError) -> Query {
        try Query(QuerySyntax(.objects(className: className), where: predicate), schema: schema, isLimited: false)
    }

    private static let className = "User"

    /// Constants are checked against some class, of which they read nothing.
    private static let schema: Schema = {
        let declared = try? ClassSchema(className, primaryKey: "id", properties: [Property("id", .scalar(.string))])
        return (try? declared.map { try Schema([$0]) }) ?? Schema()
    }()
}
