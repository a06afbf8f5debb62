internal import Glibc
internal import SluiceExchange

/// The places from which a command takes its settings. What the command line says counts, else what the environment says,
/// else what the configuration file says, which `--config` or `SLUICE_CONFIG` names.
struct SettingSources: Sendable {
    /// The options that no file can set.
    static let options: [OptionDescription] = [
        .value(
            "config", "FILE", "a file with more settings, NAME = VALUE on each line, by the names of the options",
            completion: .files),
        .flag("print-config", "print the settings and where each is from, in the form of such a file, and end"),
    ]

    let description: CommandDescription
    /// What the command line says.
    let arguments: ParsedArguments
    /// The value of a variable; nil if it is missing or empty.
    var environment: @Sendable (String) -> String? = SecretSource.environment

    /// Reads all places.
    ///
    /// - Throws: ``CommandError`` when the file cannot be read, when a name is none of an option, or when a value cannot
    ///   be right. The message says where the value stands.
    func read() throws(CommandError) -> Settings {
        var settings = Settings(options: options)
        if let path = arguments.value("config") ?? environment("SLUICE_CONFIG") {
            try add(try ConfigurationFile(at: path), to: &settings)
        }
        for option in options {
            guard let text = environment(option.variable) else { continue }
            let values = option.isRepeatable ? text.split(separator: ",").map(String.init) : [text]
            try settings.set(option, values, from: .environment(option.variable))
        }
        for option in options where arguments.has(option.name) {
            let values = option.valueName == nil ? ["\(arguments.flag(option.name))"] : arguments.values(option.name)
            try settings.set(option, values, from: .commandLine)
        }
        return settings
    }

    private var options: [OptionDescription] {
        let others = Self.options.map(\.name) + ["help"]
        return description.options.filter { !others.contains($0.name) }
    }

    private func add(_ file: ConfigurationFile, to settings: inout Settings) throws(CommandError) {
        var found: [String: [ConfigurationFile.Line]] = [:]
        for line in file.lines {
            guard let option = options.first(where: { $0.name == line.name }) else {
                let hint =
                    Suggestion.closest(to: line.name, among: options.map(\.name)).map { "did you mean '\($0)'?" }
                    ?? "'sluice \(description.name) --help' lists the settings, without the dashes"
                throw .usage(
                    "\(file.path):\(line.number): there is no setting '\(DisplayText.shortened(line.name))'; \(hint)")
            }
            if let earlier = found[line.name]?.first, !option.isRepeatable {
                throw .usage(
                    "\(file.path):\(line.number): '\(line.name)' is set twice, before in line \(earlier.number)")
            }
            found[line.name, default: []].append(line)
        }
        for option in options {
            guard let lines = found[option.name] else { continue }
            try settings.set(option, lines.map { ($0.value, .file(file.path, line: $0.number)) })
        }
    }

    /// Variables that begin like settings and are none, with the setting that was probably meant. Those that other
    /// programs set, such as an orchestrator for a service of this name, look like none.
    ///
    /// - Parameter names: the names of all variables.
    func doubtfulVariables(_ names: [String] = Self.variableNames) -> [(name: String, nearest: String)] {
        let known = options.map(\.variable) + ["SLUICE_CONFIG"]
        return names.filter { $0.hasPrefix("SLUICE_") && !known.contains($0) }.compactMap { name in
            let nearest = Suggestion.closest(
                to: String(name.dropFirst(7)), among: known.map { String($0.dropFirst(7)) })
            return nearest.map { (name, "SLUICE_" + $0) }
        }
    }

    /// The names of the variables of this process.
    static var variableNames: [String] {
        var names: [String] = []
        var next = environ
        while let entry = next.pointee {
            names.append(String(String(cString: entry).prefix { $0 != "=" }))
            next += 1
        }
        return names.sorted()
    }
}
