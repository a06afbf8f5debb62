internal import Sluice
internal import SluiceQuery

/// The query of a command line, with the values for `$0`, `$1` … in it.
struct QueryArgument: Sendable {
    static let argument = ArgumentDescription(
        "QUERY",
        "CLASS [WHERE …] [GROUP(…)] [AGGREGATE(…)] [SORT(…)] [AFTER(…)] [BEFORE(…)] [DISTINCT(…)] [LIMIT(…)] "
            + "[EXCLUDE(…)] [TOTAL], or OBJECT(ID)")

    static let option = OptionDescription.value(
        "arg", "VALUE",
        "the value of $0 in the query, then of $1 …; it gets the type that the query expects; --arg= is the empty text",
        isRepeatable: true, takesEmptyText: true)

    let syntax: QuerySyntax
    private let text: String
    private let hasArguments: Bool

    /// - Throws: ``CommandError`` of kind `usage` when the query does not parse, or when there are too few or too many
    ///   arguments.
    init(_ arguments: ParsedArguments) throws(CommandError) {
        text = arguments.positionals[1]
        let values = arguments.values("arg")
        hasArguments = !values.isEmpty
        do throws(QueryError) {
            syntax = try QuerySyntax.parse(text, textArguments: values)
        } catch {
            let hint = error.code == .missingArgument && values.isEmpty ? "; give it as --arg=VALUE" : ""
            throw .usage(error.description + hint)
        }
    }

    /// Whether it computes figures, and finds no objects.
    var computesFigures: Bool {
        syntax.clauses.contains { clause in
            switch clause {
            case .aggregate, .group: true
            default: false
            }
        }
    }

    /// Whether it is about the objects of a class, and not about one object by its id.
    var namesClass: Bool { if case .objects = syntax.target { true } else { false } }

    /// Whether properties are left out of the results.
    var excludes: Bool { syntax.clauses.contains { if case .exclude = $0 { true } else { false } } }

    /// The query with its arguments inserted.
    ///
    /// - Throws: `QueryError` when an argument does not have the type that the query expects.
    func text(in schema: Schema) throws -> String {
        hasArguments ? try Query(syntax, schema: schema).canonicalText : text
    }
}
