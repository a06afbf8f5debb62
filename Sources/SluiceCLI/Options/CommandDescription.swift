/// Describes a command as data, from which parser, help and completion are made.
struct CommandDescription: Sendable {
    let name: String
    /// What the command does, in one line.
    let summary: String
    let arguments: [ArgumentDescription]
    let options: [OptionDescription]
    /// The program with its arguments that follows `--`; nil for a command that runs none.
    let program: ArgumentDescription?
    /// Whether the options may also be in the environment and in a file, see ``SettingSources``.
    let takesSettings: Bool
    /// Paragraphs that help prints after the options.
    let notes: [String]
    /// Whole command lines, which help prints.
    let examples: [String]

    init(
        _ name: String, _ summary: String, arguments: [ArgumentDescription] = [], options: [OptionDescription] = [],
        program: ArgumentDescription? = nil, takesSettings: Bool = false, notes: [String] = [], examples: [String]
    ) {
        self.name = name
        self.summary = summary
        self.arguments = arguments
        self.options = options + [.flag("help", "print this help")]
        self.program = program
        self.takesSettings = takesSettings
        self.notes = notes
        self.examples = examples
    }

    /// The positional arguments, and the program that follows.
    var words: [ArgumentDescription] { arguments + (program.map { [$0] } ?? []) }

    /// `sluice query URL QUERY [options]`.
    var usage: String {
        (["sluice", name] + arguments.map { $0.isOptional ? "[\($0.name)]" : $0.name } + ["[options]"]
            + (program.map { ["-- \($0.name) …"] } ?? [])).joined(separator: " ")
    }
}

/// A command of the tool.
protocol Command: Sendable {
    static var description: CommandDescription { get }

    /// - Throws: ``CommandError`` of kind `usage` when the value of an option is invalid.
    init(_ arguments: ParsedArguments) throws(CommandError)

    func run() async throws
}
