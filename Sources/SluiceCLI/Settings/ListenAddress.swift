/// An address to listen at: `HOST:PORT`, with an IPv6 address in brackets.
struct ListenAddress: Hashable, Sendable {
    let host: String
    let port: UInt16

    /// - Parameter option: the option that gives it, for messages.
    init(_ text: String, of option: String) throws(CommandError) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw .usage("--\(option) is HOST:PORT, such as 127.0.0.1:9080, and '\(text)' is not")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !host.contains(":") || text.hasPrefix("[") else {
            throw .usage("--\(option) is HOST:PORT, such as 127.0.0.1:9080 or [::1]:9080, and '\(text)' is not")
        }
        self.host = String(host)
        self.port = port
    }
}
