internal import SluiceModel

/// The levels of single log domains, as `--log-domains` gives them: `network=warning,login=debug`, with `off` for a
/// domain of which nothing is logged.
enum LogDomains {
    static let placeholder = "DOMAIN=LEVEL,…"

    static func parse(_ text: String) throws(CommandError) -> [LogDomain: LogLevel?] {
        var domains: [LogDomain: LogLevel?] = [:]
        for part in text.split(separator: ",") {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            let domain = sides.first.flatMap { name in LogDomain.all.first { $0.description == name } }
            guard sides.count == 2, let domain else {
                throw .usage(
                    "--log-domains is \(placeholder), and '\(part)' is not; the domains are "
                        + LogDomain.all.map(\.description).joined(separator: ", "))
            }
            if sides[1] == "off" {
                domains.updateValue(nil, forKey: domain)
                continue
            }
            guard let level = LogLevel(rawValue: String(sides[1])) else {
                throw .usage(
                    "--log-domains: '\(sides[1])' is no level; the levels are off, "
                        + LogLevel.allCases.map(\.rawValue).joined(separator: ", "))
            }
            domains.updateValue(level, forKey: domain)
        }
        return domains
    }
}
