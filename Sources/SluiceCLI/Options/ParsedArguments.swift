/// The arguments of a command line, checked against the command's description.
struct ParsedArguments: Sendable {
    private(set) var positionals: [String] = []
    /// The program that follows `--`, and its arguments.
    private(set) var program: [String] = []
    private var values: [String: [String]] = [:]
    private var flags: [String: Bool] = [:]

    mutating func add(positional: String) { positionals.append(positional) }

    mutating func add(program word: String) { program.append(word) }

    mutating func add(flag: String, _ isOn: Bool = true) { flags[flag] = isOn }

    /// Forgets what was given for an option.
    mutating func remove(_ name: String) {
        flags[name] = nil
        values[name] = nil
    }

    mutating func add(value: String, of option: String) { values[option, default: []].append(value) }

    /// Whether a flag is on.
    func flag(_ name: String) -> Bool { flags[name] ?? false }

    /// The value of an option; nil when it was not given.
    func value(_ name: String) -> String? { values[name]?.first }

    /// All values of a repeatable option, in order.
    func values(_ name: String) -> [String] { values[name] ?? [] }

    /// Whether an option was given; also a flag that was given to be off.
    func has(_ name: String) -> Bool { flags[name] != nil || values[name] != nil }
}

extension ParsedArguments {
    /// The value of an option that must be one of the cases of an enumeration.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, as type: Choice.Type
    ) throws(CommandError) -> Choice? where Choice.RawValue == String {
        guard let text = value(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let choices = type.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("--\(name) is one of \(choices), and '\(text)' is none of them")
        }
        return choice
    }

    /// The value of an option that is a duration: `30`, `30s`, `500ms`, `2m`, `6h` or `1d`.
    func duration(_ name: String, mayBeZero: Bool = false) throws(CommandError) -> Duration? {
        guard let text = value(name) else { return nil }
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let number = Double(digits)
        let unit: Double? =
            switch text.dropFirst(digits.count) {
            case "", "s": 1
            case "ms": 0.001
            case "m": 60
            case "h": 3_600
            case "d": 86_400
            default: nil
            }
        guard let number, let unit, number > 0 || mayBeZero && number == 0, number * unit <= 40_000_000 else {
            throw .usage("--\(name) is a length of time such as 30, 30s, 500ms, 2m, 6h or 1d, and '\(text)' is none")
        }
        return .milliseconds(Int64((number * unit * 1000).rounded(.up)))
    }
}
