/// A response with a small body. The connection closes after it.
package struct HTTPResponse: Hashable, Sendable, Error {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]

    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Makes a response that nobody keeps, that browsers take for nothing but its type, and that no page of another site
    /// may embed.
    package init(status: Int, type: String, _ body: String) {
        self.init(
            status: status,
            headers: [
                "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
                "Cross-Origin-Resource-Policy": "same-origin",
            ], body: Array(body.utf8))
    }

    /// Makes such a response whose body is a text for people.
    package init(status: Int, text: String) {
        self.init(status: status, type: "text/plain; charset=utf-8", text + "\n")
    }

    /// The response as bytes, with `Content-Length` and `Connection: close` added.
    ///
    /// - Parameter includesBody: false in the response to `HEAD`.
    package func encoded(includesBody: Bool = true) -> [UInt8] {
        // A response without a body says nothing about its length (RFC 9110, section 8.6).
        let length: HTTPHeaders = status == 204 || status == 304 ? [:] : ["Content-Length": "\(body.count)"]
        return Self.head(status, headers, length) + (includesBody ? body : [])
    }

    /// The head of a response, with `Connection: close` added.
    static func head(_ status: Int, _ headers: HTTPHeaders, _ framing: HTTPHeaders) -> [UInt8] {
        var head = "HTTP/1.1 \(status) \(HTTPResponse.reason(status))\r\n"
        for field in headers.fields + framing.fields {
            head += "\(HTTPResponse.onOneLine(field.name)): \(HTTPResponse.onOneLine(field.value))\r\n"
        }
        return Array((head + "Connection: close\r\n\r\n").utf8)
    }

    /// Replaces control characters by spaces, so that a value cannot end its header line.
    private static func onOneLine(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }, as: UTF8.self)
    }

    /// The reason phrase of a status (RFC 9110, section 15).
    package static func reason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 204: "No Content"
        case 302: "Found"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 421: "Misdirected Request"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Status"
        }
    }
}
