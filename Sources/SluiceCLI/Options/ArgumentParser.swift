internal import SluiceExchange

/// Parses the arguments of a command.
///
/// Options are long: `--name=value` or `--name value`. The second form is unambiguous, since an option either always or
/// never has a value; its value may not begin with `--`. Options and positional arguments may be mixed, and `--` ends
/// the options.
struct ArgumentParser {
    private let description: CommandDescription

    init(_ description: CommandDescription) { self.description = description }

    /// - Parameter arguments: the arguments after the command's name. If `--help` is among them, nothing else is
    ///   required.
    /// - Throws: ``CommandError`` of kind `usage`, with a suggestion if a name was probably mistyped.
    func parse(_ arguments: some Sequence<String>) throws(CommandError) -> ParsedArguments {
        var parsed = ParsedArguments()
        var onlyPositionals = false
        var iterator = arguments.makeIterator()
        while let argument = iterator.next() {
            if onlyPositionals || !argument.hasPrefix("-") || argument == "-" {
                parsed.add(positional: argument)
            } else if argument == "--" {
                guard description.program == nil else {
                    while let word = iterator.next() { parsed.add(program: word) }
                    break
                }
                onlyPositionals = true
            } else if argument == "-h" {
                parsed.add(flag: "help")
            } else {
                try parse(option: argument, into: &parsed) { iterator.next() }
            }
        }
        if !parsed.flag("help") {
            try check(parsed.positionals)
            if let program = description.program, parsed.program.isEmpty {
                throw .usage("\(program.name) is missing after --; usage: \(description.usage)")
            }
        }
        return parsed
    }

    private func parse(
        option argument: String, into parsed: inout ParsedArguments, next: () -> String?
    ) throws(CommandError) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0].dropFirst(2))
        guard argument.hasPrefix("--"), let option = description.options.first(where: { $0.name == name }) else {
            throw unknown(String(parts[0]))
        }
        guard option.isRepeatable || !parsed.has(name) else { throw .usage("--\(name) was given twice") }
        guard let valueName = option.valueName else {
            guard let isOn = parts.count == 1 ? true : description.takesSettings ? Bool(String(parts[1])) : nil else {
                guard description.takesSettings else { throw .usage("--\(name) takes no value") }
                throw .usage("--\(name) is true or false, and not '\(DisplayText.shortened(String(parts[1])))'")
            }
            parsed.add(flag: name, isOn)
            return
        }
        let value = parts.count == 2 ? String(parts[1]) : next()
        guard let value, parts.count == 2 || !value.hasPrefix("--") else {
            throw .usage("--\(name) needs a value: --\(name)=\(valueName)")
        }
        try option.check(value)
        parsed.add(value: value, of: name)
    }

    private func unknown(_ option: String) -> CommandError {
        let names = description.options.map { "--\($0.name)" }
        let hint =
            Suggestion.closest(to: option, among: names).map { "did you mean \($0)?" }
            ?? "'sluice \(description.name) --help' lists its options"
        return .usage("sluice \(description.name) has no option \(DisplayText.shortened(option)); \(hint)")
    }

    private func check(_ positionals: [String]) throws(CommandError) {
        let expected = description.arguments
        if positionals.count < expected.count, !expected[positionals.count].isOptional {
            throw .usage("\(expected[positionals.count].name) is missing; usage: \(description.usage)")
        }
        if positionals.count > expected.count {
            throw .usage(
                "'\(DisplayText.shortened(positionals[expected.count]))' is one argument too many; usage: \(description.usage)"
            )
        }
        for (value, argument) in zip(positionals, expected) {
            if value.isEmpty { throw .usage("\(argument.name) is empty; usage: \(description.usage)") }
            if case .choices(let choices) = argument.completion, !choices.contains(value) {
                throw .usage(
                    "\(argument.name) is one of \(choices.joined(separator: ", ")), and '\(DisplayText.shortened(value))' is none of them"
                )
            }
        }
    }
}
