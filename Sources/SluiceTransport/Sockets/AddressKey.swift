internal import Glibc

/// Tells peers apart for limits: by IPv4 address or, with IPv6, by network (the first 64 bits), since one customer has
/// all of it. An IPv4 address that is mapped into IPv6 is the IPv4 address.
package struct AddressKey: Hashable, Sendable {
    private enum Kind: Hashable, Sendable {
        /// The address, most significant byte first.
        case ipv4(UInt32)
        /// The network, most significant byte first.
        case ipv6(UInt64)
        /// Something else, such as the name of an end of a network in memory.
        case name(String)
    }

    private let kind: Kind

    private init(kind: Kind) { self.kind = kind }

    /// - Parameter bytes: the 4 or 16 bytes of an address.
    init(_ bytes: some Collection<UInt8>) {
        let isMapped =
            bytes.count == 16 && bytes.prefix(10).allSatisfy { $0 == 0 }
            && bytes.dropFirst(10).prefix(2).allSatisfy { $0 == 0xFF }
        if bytes.count == 4 || isMapped {
            kind = .ipv4(bytes.suffix(4).reduce(0) { $0 << 8 | UInt32($1) })
        } else {
            kind = .ipv6(bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        }
    }

    /// Reads an address.
    ///
    /// - Parameter text: an address, with a port or without, such as `192.0.2.1`, `[2001:db8::1]:80` or `fe80::1%eth0`.
    ///   Of any other text, the first 64 characters are the key.
    package init(_ text: String) {
        var host = Substring(text)
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            host = host[host.index(after: host.startIndex)..<end]
        } else if let colon = host.firstIndex(of: ":"), colon == host.lastIndex(of: ":") {
            host = host[..<colon]
        }
        host = host.prefix { $0 != "%" }
        var ipv6 = in6_addr()
        var ipv4 = in_addr()
        if inet_pton(AF_INET6, String(host), &ipv6) == 1 {
            self.init(withUnsafeBytes(of: ipv6) { Array($0) })
        } else if inet_pton(AF_INET, String(host), &ipv4) == 1 {
            self.init(withUnsafeBytes(of: ipv4) { Array($0) })
        } else {
            self.init(kind: .name(String(host.prefix(64))))
        }
    }
}

extension AddressKey: CustomStringConvertible {
    /// The address, or the network as `2001:db8:0:0::/64`.
    package var description: String {
        switch kind {
        case .ipv4(let bits): (0..<4).map { "\(bits >> UInt32(24 - 8 * $0) & 0xFF)" }.joined(separator: ".")
        case .ipv6(let bits):
            (0..<4).map { String(bits >> UInt64(48 - 16 * $0) & 0xFFFF, radix: 16) }.joined(separator: ":") + "::/64"
        case .name(let name): name
        }
    }
}
