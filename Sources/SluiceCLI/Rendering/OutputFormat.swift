/// A format in which a command prints: a table for people, lines of JSON for programs, or others.
protocol PrintedFormat: RawRepresentable<String>, CaseIterable, Sendable {
    static var table: Self { get }
    static var jsonl: Self { get }
}

extension PrintedFormat {
    /// The format that was asked for; else a table on a terminal, and JSON lines elsewhere.
    static func chosen(_ arguments: ParsedArguments) throws(CommandError) -> Self {
        try arguments.choice("format", as: Self.self) ?? (Terminal.isOutput ? .table : .jsonl)
    }

    static var option: OptionDescription {
        .choice(
            "format", allCases.map(\.rawValue),
            "how to print; by default a table on a terminal and JSON lines elsewhere")
    }
}

/// The format in which objects are printed.
enum OutputFormat: String, PrintedFormat { case table, jsonl }

/// The format in which the results of a query are printed.
enum QueryFormat: String, PrintedFormat { case table, jsonl, csv }
