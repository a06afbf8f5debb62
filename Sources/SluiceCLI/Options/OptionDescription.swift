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
    /// The value that holds where none is given, as help shows it; nil for none.
    let defaultValue: String?

    private init(
        _ name: String, valueName: String?, summary: String, completion: Completion, isRepeatable: Bool,
        takesEmptyText: Bool = false, defaultValue: String? = nil
    ) {
        self.name = name
        self.valueName = valueName
        self.summary = summary
        self.completion = completion
        self.isRepeatable = isRepeatable
        self.takesEmptyText = takesEmptyText
        self.defaultValue = defaultValue
    }

    /// An option without a value.
    static func flag(_ name: String, _ summary: String) -> OptionDescription {
        OptionDescription(name, valueName: nil, summary: summary, completion: .nothing, isRepeatable: false)
    }

    /// An option with a value.
    static func value(
        _ name: String, _ valueName: String, _ summary: String, default defaultValue: String? = nil,
        completion: Completion = .nothing, isRepeatable: Bool = false, takesEmptyText: Bool = false
    ) -> OptionDescription {
        OptionDescription(
            name, valueName: valueName, summary: summary, completion: completion, isRepeatable: isRepeatable,
            takesEmptyText: takesEmptyText, defaultValue: defaultValue)
    }

    /// An option whose value is one of several words.
    static func choice(
        _ name: String, _ choices: [String], _ summary: String, default defaultValue: String? = nil
    ) -> OptionDescription {
        value(
            name, choices.joined(separator: "|"), summary, default: defaultValue, completion: .choices(choices))
    }

    /// The option as help and usage lines show it: `--name` or `--name=VALUE`.
    var usage: String { valueName.map { "--\(name)=\($0)" } ?? "--\(name)" }

    /// Checks what a value must be whatever it means.
    ///
    /// - Throws: ``CommandError`` when it is empty, or none of the words that it may be.
    func check(_ value: String) throws(CommandError) {
        guard !value.isEmpty || takesEmptyText else {
            throw .usage("--\(name) needs a value: \(usage)")
        }
        if case .choices(let choices) = completion, !choices.contains(value) {
            throw .usage(
                "--\(name) is one of \(choices.joined(separator: ", ")), and '\(DisplayText.shortened(value))' is none of them"
            )
        }
    }

    /// What the option is for, and the value that holds where none is given.
    var explanation: String { defaultValue.map { "\(summary); \($0) by default" } ?? summary }

    /// The variable of the environment that sets the option: `SLUICE_LOG_LEVEL` for `log-level`.
    var variable: String {
        "SLUICE_" + String(name.map { $0 == "-" ? "_" : Character($0.uppercased()) })
    }
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
