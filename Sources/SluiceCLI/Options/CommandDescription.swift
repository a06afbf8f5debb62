/// A command as data: what it is called and takes, for the parser, help and completion.
struct CommandDescription: Sendable {
    let name: String
    /// One line.
    let summary: String
    let arguments: [ArgumentDescription]
    let options: [OptionDescription]
    /// Paragraphs that help prints after the options.
    let notes: [String]
    /// Whole command lines.
    let examples: [String]

    init(
        _ name: String, _ summary: String, arguments: [ArgumentDescription] = [], options: [OptionDescription] = [],
        notes: [String] = [], examples: [String]
    ) {
        self.name = name
        self.summary = summary
        self.arguments = arguments
        self.options = options + [.flag("help", "print this help")]
        self.notes = notes
        self.examples = examples
    }

    /// `sluice query URL QUERY [options]`.
    var usage: String {
        (["sluice", name] + arguments.map(\.name) + ["[options]"]).joined(separator: " ")
    }
}

/// A command that can run.
protocol Command: Sendable {
    static var description: CommandDescription { get }

    /// - Throws: ``CommandError`` of kind `usage` when an option's value makes no sense.
    init(_ arguments: ParsedArguments) throws(CommandError)

    func run() async throws
}
