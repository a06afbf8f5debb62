/// Where a server is: a `ws://` or `wss://` URL (RFC 6455, section 3).
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// Whether the connection is encrypted.
    package let usesTLS: Bool
    /// A name, or an IP address without brackets.
    package let host: String
    package let port: UInt16
    /// The path and query to request; it begins with a slash.
    package let target: String

    /// Parses a URL.
    ///
    /// - Throws: `invalidURL`, saying what is wrong with it.
    package init(_ url: String) throws(TransportError) {
        func bad(_ reason: String) -> TransportError {
            TransportError(.invalidURL, "\"\(url)\" is not a server's URL: \(reason)")
        }
        let bytes = Array(url.utf8)
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw bad("it has spaces, control characters or characters that need percent escapes")
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: Array("://".utf8))
        else {
            throw bad("it should look like wss://HOST:PORT/PATH")
        }
        let scheme = String(decoding: bytes[..<colon].map(ASCII.lower), as: UTF8.self)
        guard scheme == "ws" || scheme == "wss" else {
            throw bad("its scheme is \"\(scheme)\" instead of ws or wss")
        }
        usesTLS = scheme == "wss"

        let rest = bytes[(colon + 3)...]
        guard !rest.contains(UInt8(ascii: "#")) else { throw bad("a WebSocket URL has no fragment (#)") }
        let authorityEnd = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[..<authorityEnd]
        let tail = String(decoding: rest[authorityEnd...], as: UTF8.self)
        target = tail.utf8.first == UInt8(ascii: "/") ? tail : "/" + tail
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw bad("user names and passwords do not belong into it")
        }

        var hostBytes = authority
        var portBytes: ArraySlice<UInt8>?
        if authority.first == UInt8(ascii: "[") {
            guard let bracket = authority.firstIndex(of: UInt8(ascii: "]")) else {
                throw bad("the bracket around the IPv6 address is not closed")
            }
            hostBytes = authority[(authority.startIndex + 1)..<bracket]
            let after = authority[(bracket + 1)...]
            guard after.isEmpty || after.first == UInt8(ascii: ":") else {
                throw bad("after the IPv6 address there should be a colon and the port")
            }
            portBytes = after.isEmpty ? nil : after.dropFirst()
            guard hostBytes.contains(UInt8(ascii: ":")) else { throw bad("what is in brackets is no IPv6 address") }
        } else if let separator = authority.firstIndex(of: UInt8(ascii: ":")) {
            hostBytes = authority[..<separator]
            portBytes = authority[(separator + 1)...]
            guard portBytes?.contains(UInt8(ascii: ":")) == false else {
                throw bad("an IPv6 address belongs into brackets")
            }
        }
        guard !hostBytes.isEmpty else { throw bad("it names no host") }
        host = String(decoding: hostBytes, as: UTF8.self)
        if let portBytes {
            let digits = String(decoding: portBytes, as: UTF8.self)
            guard portBytes.allSatisfy({ 0x30...0x39 ~= $0 }), let number = UInt16(digits), number > 0 else {
                throw bad("its port is \"\(digits)\", not a number from 1 to 65535")
            }
            port = number
        } else {
            port = usesTLS ? 443 : 80
        }
    }

    /// The host and port in the form of the `Host` header.
    package var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == (usesTLS ? 443 : 80) ? name : "\(name):\(port)"
    }

    package var description: String { "\(usesTLS ? "wss" : "ws")://\(authority)\(target)" }
}
