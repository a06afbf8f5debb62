/// Levels by the names that operators give them: in settings, in options, and at the admin socket.
extension LogLevels {
    /// A name that is none of a level or a domain; the message says which names there are.
    package struct UnknownName: Error, Hashable {
        package let message: String
    }

    /// What stands for a domain of which nothing is written.
    package static let offName = "off"

    /// The level of a name.
    package static func level(named name: String) throws(UnknownName) -> LogLevel {
        guard let level = LogLevel(rawValue: name) else { throw unknown(name, []) }
        return level
    }

    /// The levels of domains, by their names; nil for a domain of which nothing is written. Of a domain that comes twice
    /// the last level counts.
    package static func domains(
        named names: [(domain: String, level: String)]
    ) throws(UnknownName) -> [LogDomain: LogLevel?] {
        var domains: [LogDomain: LogLevel?] = [:]
        for (name, level) in names {
            guard let domain = LogDomain.all.first(where: { $0.description == name }) else {
                let known = LogDomain.all.map(\.description).joined(separator: ", ")
                throw UnknownName(message: "'\(name)' is no domain; the domains are \(known)")
            }
            if level == offName {
                domains.updateValue(nil, forKey: domain)
            } else if let known = LogLevel(rawValue: level) {
                domains.updateValue(known, forKey: domain)
            } else {
                throw unknown(level, [offName])
            }
        }
        return domains
    }

    /// The names of domains and of their levels, in the order of the names.
    package var domainNames: [(domain: String, level: String)] {
        domains.map { ($0.key.description, $0.value?.rawValue ?? Self.offName) }.sorted { $0.0 < $1.0 }
    }

    private static func unknown(_ name: String, _ others: [String]) -> UnknownName {
        let known = (others + LogLevel.allCases.map(\.rawValue)).joined(separator: ", ")
        return UnknownName(message: "'\(name)' is no level; the levels are \(known)")
    }
}
