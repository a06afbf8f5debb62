internal import SluiceModel

/// The origin of web pages: scheme, host and port (RFC 6454).
public struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
    /// Lower case, without the port that the scheme implies: `https://app.example`.
    let text: String

    /// Reads an origin such as `https://app.example` or `http://localhost:5173`.
    ///
    /// - Returns: nil where the text is none: with a path, a user, or another scheme than `http` and `https`.
    public init?(_ text: String) {
        let lower = text.lowercased()
        guard let scheme = ["https", "http"].first(where: { lower.hasPrefix($0 + "://") }) else { return nil }
        let authority = String(lower.dropFirst(scheme.count + 3))
        guard let host = Self.host(ofAuthority: authority), !host.isEmpty else { return nil }
        let isBracketed = authority.hasPrefix("[")
        let rest = authority.dropFirst(isBracketed ? host.count + 2 : host.count)
        var port = ""
        if !rest.isEmpty {
            guard rest.first == ":", let number = UInt16(rest.dropFirst()), number > 0 else { return nil }
            if number != (scheme == "https" ? 443 : 80) { port = ":\(number)" }
        }
        self.text = "\(scheme)://\(isBracketed ? "[\(host)]" : host)\(port)"
    }

    /// As browsers write it.
    public var description: String { text }

    /// The host of `HOST:PORT` in lower case, without brackets; nil where it has characters that no host has.
    static func host(ofAuthority authority: String) -> String? {
        let lower = authority.lowercased()
        if lower.hasPrefix("[") {
            guard let end = lower.firstIndex(of: "]") else { return nil }
            let host = lower[lower.index(after: lower.startIndex)..<end]
            return host.utf8.allSatisfy {
                Hexadecimal.value(of: $0) != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
            }
                ? String(host) : nil
        }
        let host = lower.prefix { $0 != ":" }
        let isHost = host.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
        }
        return isHost ? String(host) : nil
    }

    /// Whether a host is an address, which nobody can make lead to another machine.
    static func isAddress(_ host: String) -> Bool {
        if host.utf8.contains(UInt8(ascii: ":")) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
}
