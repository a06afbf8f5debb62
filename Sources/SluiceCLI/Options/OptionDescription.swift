/// Describes a long option of a command as data, from which parser, help and completion are made.
struct OptionDescription: Sendable {
    /// What a shell offers to complete the value of an option, or a positional argument.
    enum Completion: Sendable, Hashable {
        case nothing
        case files
        case directories
        case choices([String])
    }

    /// The name without the leading dashes.
    let name: String
    /// The name of the value in help; nil for a flag, which has no value.
    let valueName: String?
    let summary: String
    let completion: Completion
    let isRepeatable: Bool
    /// Whether the value may be the empty text.
    let takesEmptyText: Bool

    private init(
        _ name: String, valueName: String?, summary: String, completion: Completion, isRepeatable: Bool,
        takesEmptyText: Bool = false
    ) {
        self.name = name
        self.valueName = valueName
        self.summary = summary
        self.completion = completion
        self.isRepeatable = isRepeatable
        self.takesEmptyText = takesEmptyText
    }

    /// An option without a value.
    static func flag(_ name: String, _ summary: String) -> OptionDescription {
        OptionDescription(name, valueName: nil, summary: summary, completion: .nothing, isRepeatable: false)
    }

    /// An option with a value.
    static func value(
        _ name: String, _ valueName: String, _ summary: String, completion: Completion = .nothing,
        isRepeatable: Bool = false, takesEmptyText: Bool = false
    ) -> OptionDescription {
        OptionDescription(
            name, valueName: valueName, summary: summary, completion: completion, isRepeatable: isRepeatable,
            takesEmptyText: takesEmptyText)
    }

    /// An option whose value is one of several words.
    static func choice(_ name: String, _ choices: [String], _ summary: String) -> OptionDescription {
        value(name, choices.joined(separator: "|"), summary, completion: .choices(choices))
    }

    /// The option as help and usage lines show it: `--name` or `--name=VALUE`.
    var usage: String { valueName.map { "--\(name)=\($0)" } ?? "--\(name)" }
}

/// Describes a positional argument of a command.
struct ArgumentDescription: Sendable {
    /// The name in capitals, as usage lines show it.
    let name: String
    let summary: String
    let completion: OptionDescription.Completion
    /// Whether it may be left out; then those after it may be, too.
    let isOptional: Bool

    init(
        _ name: String, _ summary: String, completion: OptionDescription.Completion = .nothing, isOptional: Bool = false
    ) {
        self.isOptional = isOptional
        self.name = name
        self.summary = summary
        self.completion = completion
    }
}
