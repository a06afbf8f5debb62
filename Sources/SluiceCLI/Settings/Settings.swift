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

    /// An error about an option, with the place where the option was set if that is not the command line. Of several
    /// options that it names, the one whose value it quotes counts.
    func located(_ error: CommandError) -> CommandError {
        let named = options.filter { error.message.contains(mention: "--\($0.name)") }
        for option in named {
            guard let origin = quotedOrigin(of: option, in: error.message) else { continue }
            return Self.located(error, at: origin, of: option)
        }
        for option in named {
            switch origin(of: option.name) {
            case .commandLine?, nil: continue
            case .file?, .environment?: return Self.located(error, at: origin(of: option.name), of: option)
            }
        }
        return error
    }

    /// The message of a server that could not be started, with the place of the setting whose value it names, if that is
    /// not the command line. Of several that fit, one that it quotes counts, then the longest value, and then the one whose
    /// option it names too.
    func located(message: String) -> String {
        var best: (rank: (isQuoted: Int, length: Int, isNamed: Int), place: String)?
        for option in options {
            let words = option.name.split(separator: "-").map(String.init).filter { $0.count > 3 }
            let isNamed = words.contains { message.contains(word: $0) }
            for (value, origin) in zip(values.values(option.name), places[option.name] ?? []) {
                for form in Self.forms(of: value, option) {
                    let isQuoted = message.contains("'\(form)'") || message.contains("\"\(form)\"")
                    // A short value may be any word.
                    let isMeant =
                        isQuoted || (form.count > 3 ? message.contains(form) : isNamed && message.contains(word: form))
                    let rank = (isQuoted ? 1 : 0, form.count, isNamed ? 1 : 0)
                    guard isMeant, best.map({ $0.rank < rank }) ?? true else { continue }
                    best = (rank, origin == .commandLine ? "" : origin.place(of: option.name))
                }
            }
        }
        guard let best, !best.place.isEmpty else { return message }
        return "\(best.place): \(message)"
    }

    /// Where the value of an option is from that a message quotes; nil if it quotes none.
    private func quotedOrigin(of option: OptionDescription, in message: String) -> SettingOrigin? {
        zip(values.values(option.name), places[option.name] ?? []).first { value, _ in
            Self.forms(of: value, option).contains { message.contains("'\(DisplayText.shortened($0))'") }
        }?.1
    }

    /// What messages may call a value: itself, the part that is not the name of what it is for, and the host of an
    /// address.
    private static func forms(of value: String, _ option: OptionDescription) -> [String] {
        var forms = [value]
        if option.isRepeatable, let sign = value.firstIndex(of: "=") {
            forms.append(String(value[value.index(after: sign)...]))
        }
        if option.valueName == "HOST:PORT", let colon = value.lastIndex(of: ":") {
            forms.append(String(value[..<colon].filter { !"[]".contains($0) }))
        }
        return forms.filter { !$0.isEmpty }
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

    /// A URL without the password that it may have, before the host or among the parameters.
    static func withoutPassword(_ value: String) -> String {
        guard let scheme = value.firstRange(of: "://") else { return value }
        let text = value.replacing(#/([?&](?:ssl)?password=)[^&]*/#.ignoresCase()) { "\($0.1)…" }
        guard let at = text[scheme.upperBound...].lastIndex(of: "@"),
            let colon = text[scheme.upperBound..<at].firstIndex(of: ":")
        else { return text }
        return text[...colon] + "…" + text[at...]
    }

    /// The values of the options that something sets. A flag that is off counts as not set.
    var valuesByName: [String: [String]] {
        var found: [String: [String]] = [:]
        for option in options where values.flag(option.name) || !values.values(option.name).isEmpty {
            found[option.name] = option.valueName == nil ? ["true"] : values.values(option.name)
        }
        return found
    }
}

extension String {
    /// Whether an option is named, and not one that begins with its name.
    fileprivate func contains(mention name: String) -> Bool { contains(name) { _, next in !next.isPartOfName } }

    /// Whether there is a text, and not as a part of a longer word.
    fileprivate func contains(word: String) -> Bool {
        contains(word) { before, next in !before.isPartOfName && !next.isPartOfName }
    }

    /// Whether there is a text between two characters that fit; a blank stands for the ends.
    private func contains(_ text: String, where fits: (_ before: Character, _ next: Character) -> Bool) -> Bool {
        var rest = self[...]
        while let range = rest.firstRange(of: text) {
            let before = range.lowerBound > startIndex ? self[index(before: range.lowerBound)] : " "
            if fits(before, range.upperBound < endIndex ? self[range.upperBound] : " ") { return true }
            rest = rest[range.upperBound...]
        }
        return false
    }
}

extension Character {
    fileprivate var isPartOfName: Bool { isLetter || isNumber || self == "-" }
}
