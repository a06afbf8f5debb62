/// The format in which objects are printed.
enum OutputFormat: String, CaseIterable, Sendable {
    case table, jsonl

    /// The format that was asked for; else a table on a terminal, and JSON lines elsewhere.
    static func chosen(_ arguments: ParsedArguments) throws(CommandError) -> OutputFormat {
        try arguments.choice("format", as: OutputFormat.self) ?? (Terminal.isOutput ? .table : .jsonl)
    }

    static let option = OptionDescription.choice(
        "format", allCases.map(\.rawValue), "how to print; by default a table on a terminal and JSON lines elsewhere")
}

/// The format in which the results of a query are printed.
enum QueryFormat: String, CaseIterable, Sendable {
    case table, jsonl, csv

    /// The format that was asked for; else a table on a terminal, and JSON lines elsewhere.
    static func chosen(_ arguments: ParsedArguments) throws(CommandError) -> QueryFormat {
        try arguments.choice("format", as: QueryFormat.self) ?? (Terminal.isOutput ? .table : .jsonl)
    }

    static let option = OptionDescription.choice(
        "format", allCases.map(\.rawValue), "how to print; by default a table on a terminal and JSON lines elsewhere")
}
