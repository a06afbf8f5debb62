/// A version of HTTP that requests may have.
package enum HTTPVersion: Hashable, Sendable {
    /// Health checks of load balancers still use it (RFC 1945). Its answers are not in chunks.
    case http10
    case http11
}

/// The head of a request.
package struct HTTPRequest: Hashable, Sendable {
    package var method: String
    /// The path and query as sent, percent escapes included; it begins with a slash.
    package var target: String
    package var headers: HTTPHeaders
    package var version: HTTPVersion

    package init(method: String, target: String, headers: HTTPHeaders, version: HTTPVersion = .http11) {
        self.method = method
        self.target = target
        self.headers = headers
        self.version = version
    }

    /// The target up to a question mark.
    package var path: String {
        String(decoding: target.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// The target after the first question mark.
    package var query: String? {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return String(decoding: target.utf8[target.utf8.index(after: mark)...], as: UTF8.self)
    }

    /// Whether the client asks for a WebSocket connection.
    package var isUpgrade: Bool { headers["Upgrade"] != nil || headers["Sec-WebSocket-Key"] != nil }
}
