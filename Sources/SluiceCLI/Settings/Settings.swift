/// The settings of a command, with where each is from.
struct Settings: Sendable {
    let options: [OptionDescription]
    /// The values as options of a command line.
    private(set) var values = ParsedArguments()
    private(set) var origins: [String: SettingOrigin] = [:]

    init(options: [OptionDescription]) { self.options = options }

    /// Sets an option to the values of a place that counts more than those before.
    ///
    /// - Throws: ``CommandError`` when a value cannot be right.
    mutating func set(
        _ option: OptionDescription, _ new: [String], from origin: SettingOrigin
    ) throws(CommandError) {
        values.remove(option.name)
        origins[option.name] = origin
        for value in new {
            guard option.valueName == nil else {
                do { try option.check(value) } catch { throw located(error) }
                values.add(value: value, of: option.name)
                continue
            }
            guard let isOn = Bool(value) else {
                throw .usage(
                    "\(origin.place(of: option.name)): '\(option.name)' is true or false, and not "
                        + "'\(DisplayText.shortened(value))'")
            }
            // What is off counts as not given.
            if isOn { values.add(flag: option.name) } else { origins[option.name] = nil }
        }
    }

    /// An error about an option, with the place where the option was set if that is not the command line.
    func located(_ error: CommandError) -> CommandError {
        let named = options.filter { error.message.contains(mention: "--\($0.name)") }
        for option in named {
            switch origins[option.name] {
            case .file, .environment:
                let place = origins[option.name]?.place(of: option.name) ?? ""
                return CommandError(kind: error.kind, message: "\(place): \(error.message)")
            case .commandLine, nil: continue
            }
        }
        return error
    }

    /// The settings as a configuration file, with the place of each in a comment. Passwords in URLs are left out.
    var text: String {
        var lines: [(left: String, right: String)] = []
        for option in options {
            let origin = origins[option.name]?.place(of: option.name)
            if let origin {
                let all = option.valueName == nil ? ["true"] : values.values(option.name)
                lines += all.map { ("\(option.name) = \(ConfigurationFile.quoted(Self.withoutPassword($0)))", origin) }
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
