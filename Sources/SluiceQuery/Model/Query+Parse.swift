package import SluiceModel

extension Query {
    /// Parses and checks a query.
    ///
    /// - Parameters:
    ///   - text: `Class WHERE predicate clauses`, `Class clauses` or `OBJECT(id)`; with a class name given, only
    ///     `predicate clauses`, where an empty predicate stands for every object.
    ///   - className: the queried class, when `text` does not name it.
    ///   - arguments: the values of `$0`, `$1` … and, in order, of `%@`; a `.list` for a list.
    ///   - areTextsUntyped: whether strings among the arguments, and in their lists, take the types of what they are
    ///     compared with, as those of JSON do.
    ///   - schema: the schema to check the query against.
    package static func parse(
        _ text: String, className: String? = nil, arguments: [Value] = [], areTextsUntyped: Bool = false,
        schema: Schema
    ) throws(QueryError) -> Query {
        let syntax = try QuerySyntax.parse(
            text, className: className, arguments: arguments, areTextsUntyped: areTextsUntyped)
        return try Query(syntax, schema: schema)
    }

    /// The same query in the same context, checked against another schema.
    package func rebound(to schema: Schema) throws(QueryError) -> Query {
        try Query.parse(canonicalText, schema: schema).read(in: context.rebound(to: schema))
    }
}
