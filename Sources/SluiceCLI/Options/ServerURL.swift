/// The URL of a database on a server, checked when it is made.
struct ServerURL: Hashable, Sendable {
    let text: String
    /// The name of the database.
    let database: String
    /// Whether the connection uses TLS.
    let isEncrypted: Bool

    /// - Throws: ``CommandError`` of kind `usage` unless `text` is `ws://HOST[:PORT]/DATABASE` or `wss://…`.
    init(_ text: String) throws(CommandError) {
        func invalid(_ reason: String) -> CommandError {
            .usage(
                "'\(DisplayText.shortened(text))' is not the URL of a database: \(reason); write ws://HOST:PORT/DATABASE, or wss:// for TLS"
            )
        }
        let scheme = ["ws://", "wss://"].first { text.lowercased().hasPrefix($0) }
        guard let scheme else { throw invalid("it does not begin with ws:// or wss://") }
        let parts = text.dropFirst(scheme.count).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = Self.host(in: parts[0]), !host.isEmpty else {
            throw invalid("it names no host, or not a port")
        }
        guard parts.count == 2, Self.isDatabaseName(parts[1]) else {
            throw invalid("a database's name is 1 to 64 letters, digits, '_' and '-'")
        }
        self.text = text
        database = String(parts[1])
        isEncrypted = scheme == "wss://"
    }

    private static func host(in authority: Substring) -> Substring? {
        guard !authority.contains("@") else { return nil }
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            let rest = authority[authority.index(after: end)...]
            return rest.isEmpty || isPort(rest) ? authority[...end] : nil
        }
        guard let colon = authority.firstIndex(of: ":") else { return authority }
        return isPort(authority[colon...]) ? authority[..<colon] : nil
    }

    private static func isPort(_ text: Substring) -> Bool {
        guard text.hasPrefix(":"), let port = UInt16(text.dropFirst()) else { return false }
        return port > 0
    }

    private static func isDatabaseName(_ text: Substring) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, 0x5F, 0x2D: true
                default: false
                }
            }
    }
}
