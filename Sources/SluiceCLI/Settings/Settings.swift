/// The settings of a command, with where each is from.
struct Settings: Sendable {
    let options: [OptionDescription]
    /// The values as options of a command line.
    private(set) var values = ParsedArguments()
    /// Where the values of each option are from: of one that may be repeated, that of each value.
    private var places: [String: [SettingOrigin]] = [:]

    init(options: [OptionDescription]) { self.options = options }

    /// Where the first value of an option is from; nil if nothing sets it.
    func origin(of option: String) -> SettingOrigin? { places[option]?.first }

    /// Sets an option to the values of a place that counts more than those before.
    ///
    /// - Throws: ``CommandError`` when a value cannot be right.
    mutating func set(_ option: OptionDescription, _ new: [String], from origin: SettingOrigin) throws(CommandError) {
        try set(option, new.map { ($0, origin) })
    }

    /// Sets an option to values that count more than those before.
    ///
    /// - Throws: ``CommandError`` when a value cannot be right.
    mutating func set(
        _ option: OptionDescription, _ new: [(value: String, origin: SettingOrigin)]
    ) throws(CommandError) {
        values.remove(option.name)
        places[option.name] = new.map(\.origin)
        for (value, origin) in new {
            guard option.valueName == nil else {
                do { try option.check(value) } catch { throw Self.located(error, at: origin, of: option) }
                values.add(value: value, of: option.name)
                continue
            }
            guard let isOn = Bool(value) else {
                throw .usage(
                    "\(origin.place(of: option.name)): '\(option.name)' is true or false, and not "
                        + "'\(DisplayText.shortened(value))'")
            }
            // What is off counts as not given.
            if isOn { values.add(flag: option.name) } else { places[option.name] = nil }
        }
    }

    /// An error about an option, with the place where the option was set if that is not the command line.
    func located(_ error: CommandError) -> CommandError {
        let named = options.filter { error.message.contains(mention: "--\($0.name)") }
        for option in named {
            switch origin(of: option.name) {
            case .commandLine?, nil: continue
            case .file?, .environment?: return Self.located(error, at: place(of: error, in: option), of: option)
            }
        }
        return error
    }

    /// The message of a server that could not be started, with the place of the setting whose value it names, if that is
    /// not the command line. Of several that fit, the longest value counts, and then the one whose option it names too.
    func located(message: String) -> String {
        var best: (rank: (length: Int, isNamed: Int), place: String)?
        for option in options {
            let words = option.name.split(separator: "-").map(String.init)
            let isNamed = words.contains { message.contains($0) } ? 1 : 0
            for (value, origin) in zip(values.values(option.name), places[option.name] ?? []) {
                // A short value may be any word.
                guard value.count > 3, message.contains(value) else { continue }
                let rank = (value.count, isNamed)
                if let best, best.rank >= rank { continue }
                best = (rank, origin == .commandLine ? "" : origin.place(of: option.name))
            }
        }
        guard let best, !best.place.isEmpty else { return message }
        return "\(best.place): \(message)"
    }

    /// The value of an option that an error is about: the one that it quotes, or the first.
    private func place(of error: CommandError, in option: OptionDescription) -> SettingOrigin? {
        let places = places[option.name] ?? []
        let quoted = zip(values.values(option.name), places).first { value, _ in
            error.message.contains("'\(DisplayText.shortened(value))'")
        }
        return quoted?.1 ?? places.first
    }

    private static func located(
        _ error: CommandError, at origin: SettingOrigin?, of option: OptionDescription
    ) -> CommandError {
        switch origin {
        case .file?, .environment?:
            let place = origin?.place(of: option.name) ?? ""
            return CommandError(kind: error.kind, message: "\(place): \(error.message)")
        case .commandLine?, nil: return error
        }
    }

    /// The settings as a configuration file, with the place of each in a comment. Passwords in URLs are left out.
    var text: String {
        var lines: [(left: String, right: String)] = []
        for option in options {
            if let places = places[option.name] {
                let all = option.valueName == nil ? ["true"] : values.values(option.name)
                lines += zip(all, places).map { value, origin in
                    let value = ConfigurationFile.quoted(Self.withoutPassword(value))
                    return ("\(option.name) = \(value)", origin.place(of: option.name))
                }
            } else if option.valueName == nil {
                lines.append(("# \(option.name) = false", "default"))
            } else if let value = option.defaultValue {
                lines.append(("# \(option.name) = \(value)", "default"))
            } else {
                lines.append(("# \(option.name) =", "not set"))
            }
        }
        let width = min(lines.map(\.left.count).max() ?? 0, 48)
        return lines.map { line in
            line.left + String(repeating: " ", count: max(1, width + 1 - line.left.count)) + "# \(line.right)\n"
        }.joined()
    }

    /// A URL without the password that it may have.
    static func withoutPassword(_ value: String) -> String {
        guard let scheme = value.firstRange(of: "://"), let at = value[scheme.upperBound...].lastIndex(of: "@"),
            let colon = value[scheme.upperBound..<at].firstIndex(of: ":")
        else { return value }
        return value[...colon] + "…" + value[at...]
    }

    /// The names of options that another reading of the same places sets otherwise.
    func differences(from other: Settings) -> [String] {
        options.map(\.name).filter {
            values.values($0) != other.values.values($0) || values.flag($0) != other.values.flag($0)
        }
    }
}

extension String {
    /// Whether an option is named, and not one that begins with its name.
    fileprivate func contains(mention name: String) -> Bool {
        var rest = self[...]
        while let range = rest.firstRange(of: name) {
            let next = range.upperBound < endIndex ? self[range.upperBound] : " "
            if !next.isLetter, !next.isNumber, next != "-" { return true }
            rest = rest[range.upperBound...]
        }
        return false
    }
}
