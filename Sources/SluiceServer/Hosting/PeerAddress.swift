internal import Glibc

/// Tells clients apart by where they come from.
enum PeerAddress {
    /// The name of an address for limits: an IPv4 address, or of an IPv6 address the first 64 bits, since one customer
    /// has all of the rest.
    ///
    /// - Parameter text: an address, with a port or without.
    static func key(of text: String) -> String {
        var host = Substring(text)
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            host = host[host.index(after: host.startIndex)..<end]
        } else if let colon = host.firstIndex(of: ":"), colon == host.lastIndex(of: ":") {
            host = host[..<colon]
        }
        host = host.prefix { $0 != "%" }
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(host), &address) == 1 else { return String(host.prefix(64)) }
        let bytes = withUnsafeBytes(of: address) { Array($0) }
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
            return bytes[12...].map(String.init).joined(separator: ".")
        }
        return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ":")
    }
}
