/// One long option of a command, as data: parsing, help and completion are made from it.
struct OptionDescription: Sendable {
    /// What an option's value, or a positional argument, is completed with.
    enum Completion: Sendable, Hashable {
        case nothing
        case files
        case directories
        case choices([String])
    }

    /// Without the leading dashes.
    let name: String
    /// What help calls the value; nil for a flag, which has none.
    let valueName: String?
    let summary: String
    let completion: Completion
    let isRepeatable: Bool

    private init(
        _ name: String, valueName: String?, summary: String, completion: Completion, isRepeatable: Bool
    ) {
        self.name = name
        self.valueName = valueName
        self.summary = summary
        self.completion = completion
        self.isRepeatable = isRepeatable
    }

    /// An option that is there or not.
    static func flag(_ name: String, _ summary: String) -> OptionDescription {
        OptionDescription(name, valueName: nil, summary: summary, completion: .nothing, isRepeatable: false)
    }

    /// An option with a value.
    static func value(
        _ name: String, _ valueName: String, _ summary: String, completion: Completion = .nothing,
        isRepeatable: Bool = false
    ) -> OptionDescription {
        OptionDescription(
            name, valueName: valueName, summary: summary, completion: completion, isRepeatable: isRepeatable)
    }

    /// An option whose value is one of a few words.
    static func choice(_ name: String, _ choices: [String], _ summary: String) -> OptionDescription {
        value(name, choices.joined(separator: "|"), summary, completion: .choices(choices))
    }

    /// As help and usage lines write it: `--name` or `--name=VALUE`.
    var usage: String { valueName.map { "--\(name)=\($0)" } ?? "--\(name)" }
}

/// One positional argument of a command. All are required.
struct ArgumentDescription: Sendable {
    /// As usage lines write it, in capitals.
    let name: String
    let summary: String
    let completion: OptionDescription.Completion

    init(_ name: String, _ summary: String, completion: OptionDescription.Completion = .nothing) {
        self.name = name
        self.summary = summary
        self.completion = completion
    }
}
