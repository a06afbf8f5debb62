internal import SluiceModel

/// The levels of single log domains, as `--log-domains` gives them: `network=warning,login=debug`, with `off` for a
/// domain of which nothing is logged.
enum LogDomains {
    static let placeholder = "DOMAIN=LEVEL,…"

    static func parse(_ text: String) throws(CommandError) -> [LogDomain: LogLevel?] {
        let names = try names(text)
        do throws(LogLevels.UnknownName) { return try LogLevels.domains(named: names) } catch {
            throw .usage("--log-domains: \(error.message)")
        }
    }

    /// The names of domains and of their levels, whatever they are.
    static func names(_ text: String) throws(CommandError) -> [(domain: String, level: String)] {
        var names: [(domain: String, level: String)] = []
        for part in text.split(separator: ",") {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count == 2 else {
                throw .usage(
                    "--log-domains is \(placeholder), such as network=warning,login=off, and '\(part)' is not")
            }
            names.append((String(sides[0]), String(sides[1])))
        }
        return names
    }
}
