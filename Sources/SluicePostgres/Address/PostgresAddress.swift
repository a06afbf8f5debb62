#if PostgreSQL

internal import CPQ
internal import FoundationEssentials
internal import Glibc
internal import SluiceStorage

/// Where a PostgreSQL is and as whom to log in. Its description has no password.
struct PostgresAddress: Sendable, CustomStringConvertible {
    /// One of several servers of which one is the primary.
    struct Host: Hashable, Sendable, CustomStringConvertible {
        /// libpq's parameters `host`, `hostaddr` and `port`, as far as the address has them.
        var parameters: [String: String]

        var description: String {
            let place = parameters["host"] ?? parameters["hostaddr"] ?? ""
            return place + (parameters["port"].map { ":\($0)" } ?? "")
        }
    }

    /// The servers in the order in which they are tried; one without parameters if the address names none.
    private(set) var hosts: [Host]
    /// libpq's other parameters, by name.
    private let parameters: [String: String]
    /// What no message may have.
    private let secrets: [String]

    /// - Parameter text: a URL of libpq with one host or several, or `file:PATH` of a file that has it.
    /// - Throws: ``StorageError/Code/journal`` if it is neither. The message does not repeat the text, which may have a
    ///   password.
    init(_ text: String) throws(StorageError) {
        var url = text
        if text.hasPrefix("file:") {
            let path = String(text.dropFirst("file:".count))
            guard let data = FileManager.default.contents(atPath: path) else {
                throw StorageError(
                    .journal,
                    "the file \(path), which has the journal's address, cannot be read; check its path and mode")
            }
            url = String(decoding: data, as: UTF8.self)
        }
        url = String(url.drop(while: \.isWhitespace).prefix { !$0.isNewline })
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") else {
            throw StorageError(
                .journal,
                "the journal's address is no URL of PostgreSQL; write postgres://user@host/database, or file:PATH of a "
                    + "file with such a URL")
        }
        guard Self.hasOneUser(url) else {
            throw StorageError(
                .journal,
                "the journal's address has an '@' or '/' in its user, password or database, so it is not known where its "
                    + "host begins; write %40 for '@' and %2F for '/' there")
        }
        var given = try Self.parsed(url)
        secrets =
            ["password", "sslpassword"].compactMap { given[$0] } + [Self.environment("PGPASSWORD")].compactMap { $0 }
        hosts = try Self.hosts(&given)
        let defaults = [
            "client_encoding": "UTF8", "fallback_application_name": "sluice", "target_session_attrs": "read-write",
            "tcp_user_timeout": "10000", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "2",
        ]
        parameters = given.merging(defaults) { given, _ in given }
    }

    /// Whether nothing before the parameters has an `@` but the end of user and password. libpq takes the first one for
    /// it, so that the rest of a password would be a part of the host, and in every message.
    private static func hasOneUser(_ url: String) -> Bool {
        let place = url.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "?" }
        let parts = place.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 1 || parts.count == 2 && !parts[0].contains("/")
    }

    /// Lets libpq take a URL apart.
    private static func parsed(_ url: String) throws(StorageError) -> [String: String] {
        // The error's text repeats the URL.
        guard let options = PQconninfoParse(url, nil) else {
            throw StorageError(
                .journal,
                "the journal's address cannot be read; write postgres://user@host,host:port/database?parameter=value "
                    + "with libpq's parameters, and % and two digits for special characters")
        }
        defer { PQconninfoFree(options) }
        var given: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { given[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return given
    }

    /// Takes the hosts out of the parameters: each is tried with a deadline of its own, which libpq leaves to its callers.
    private static func hosts(_ given: inout [String: String]) throws(StorageError) -> [Host] {
        let lists = ["host", "hostaddr", "port"].compactMap { name in
            given.removeValue(forKey: name).map { (name, $0.split(separator: ",", omittingEmptySubsequences: false)) }
        }
        let count = lists.filter { $0.0 != "port" }.map(\.1.count).max() ?? 1
        guard lists.allSatisfy({ $0.1.count == count || $0.0 == "port" && $0.1.count == 1 }) else {
            throw StorageError(
                .journal, "the journal's address has \(count) hosts and another number of ports or numeric addresses")
        }
        let ports = lists.first { $0.0 == "port" }?.1 ?? []
        guard ports.allSatisfy({ $0.isEmpty || UInt16($0).map { $0 > 0 } ?? false }) else {
            throw StorageError(.journal, "the journal's address has a port that is no number from 1 to 65535")
        }
        return (0..<count).map { number in
            var host = Host(parameters: [:])
            for (name, values) in lists {
                let value = values[values.count == 1 ? 0 : number]
                if !value.isEmpty { host.parameters[name] = String(value) }
            }
            return host
        }
    }

    /// The address of each server alone, in their order.
    var ofEach: [PostgresAddress] {
        hosts.map { host in
            var address = self
            address.hosts = [host]
            return address
        }
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The parameters to connect to one of the hosts with.
    func parameters(for host: Host) -> [String: String] {
        parameters.merging(host.parameters) { _, host in host }
    }

    /// A text without the passwords that the address has.
    func redacted(_ text: String) -> String {
        secrets.reduce(text) { $0.replacing($1, with: "…") }
    }

    /// The user, the hosts and the database, as a URL that could be typed.
    var description: String {
        let places = hosts.map(\.description)
        let user = parameters["user"].map { "\($0)@" } ?? ""
        return redacted("postgres://\(user)\(places.joined(separator: ","))/\(parameters["dbname"] ?? "")")
    }
}

#endif
