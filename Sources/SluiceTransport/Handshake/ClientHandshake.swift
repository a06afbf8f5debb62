/// The client's half of the opening handshake (RFC 6455, section 4.1).
package struct ClientHandshake {
    private let key: String
    private let subprotocols: [String]
    private let server: String
    private var parser = HTTPHeadParser()
    private var refusal: Refusal?

    private struct Refusal {
        var status: Int
        var bodyByteCount: Int?
        var asksForTLS: Bool
        var retryAfter: Duration?
        var body: [UInt8] = []
    }

    /// How many bytes of a refusal's text are read.
    private static let refusalByteCountMax = 4_096

    /// - Parameters:
    ///   - key: from ``WebSocketKey/random(using:)``.
    ///   - subprotocols: the ones to offer; if there are any, the server must choose one.
    ///   - server: the server's name for error messages.
    package init(key: String, subprotocols: [String], server: String) {
        self.key = key
        self.subprotocols = subprotocols
        self.server = server
    }

    /// The request to send.
    ///
    /// - Throws: when a header is malformed or is one that the handshake itself sets.
    package func request(for endpoint: Endpoint, headers: HTTPHeaders) throws(TransportError) -> [UInt8] {
        var head = "GET \(endpoint.target) HTTP/1.1\r\nHost: \(endpoint.authority)\r\n"
        head +=
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\n"
        if !subprotocols.isEmpty {
            head += "Sec-WebSocket-Protocol: \(subprotocols.joined(separator: ", "))\r\n"
        }
        for field in headers.fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(ASCII.isToken),
                field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else {
                throw TransportError(
                    .invalidConfiguration, "the request header \"\(field.name)\" has characters that HTTP forbids")
            }
            guard !ClientHandshake.reserved.contains(where: { ASCII.equalsIgnoringCase($0, field.name) }) else {
                throw TransportError(
                    .invalidConfiguration, "the request header \(field.name) is set by the handshake itself")
            }
            head += "\(field.name): \(field.value)\r\n"
        }
        return Array((head + "\r\n").utf8)
    }

    private static let reserved = [
        "Host", "Upgrade", "Connection", "Sec-WebSocket-Version", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol",
        "Sec-WebSocket-Extensions", "Content-Length", "Transfer-Encoding",
    ]

    /// Reads the response, and the text of a refusal.
    ///
    /// - Returns: how many bytes belonged to the handshake, and whether it is complete.
    /// - Throws: when the server refused the upgrade, or when its response does not complete one.
    package mutating func receive(
        _ input: UnsafeRawBufferPointer
    ) throws(TransportError) -> (consumed: Int, isComplete: Bool) {
        if refusal != nil {
            try collect(input[...])
            return (input.count, false)
        }
        let (consumed, lines) = try takeHead(input)
        guard let lines else { return (consumed, false) }
        let (status, headers) = try parse(lines)
        guard status == 101 else {
            let asksForTLS = headers.elements("Upgrade").contains { $0.utf8.starts(with: "TLS/".utf8) }
            refusal = Refusal(
                status: status, bodyByteCount: headers["Content-Length"].flatMap { Int($0) }, asksForTLS: asksForTLS,
                retryAfter: headers["Retry-After"].flatMap(ClientHandshake.seconds))
            try collect(input[consumed...])
            return (input.count, false)
        }
        try check(headers)
        return (consumed, true)
    }

    /// A time in seconds (RFC 9110, section 10.2.3). A date says nothing to whom the clock may be wrong.
    private static func seconds(_ text: String) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return .seconds(Int64(text) ?? Int64(Int32.max))
    }

    /// The connection ended before the handshake was complete.
    package func endOfInput() -> TransportError {
        if let refusal { return error(for: refusal) }
        return TransportError(
            .connectionLost, "\(server) closed the connection during the opening handshake", outlook: .passing)
    }

    private mutating func takeHead(
        _ input: UnsafeRawBufferPointer
    ) throws(TransportError) -> (consumed: Int, lines: [ArraySlice<UInt8>]?) {
        let result: (consumed: Int, lines: [ArraySlice<UInt8>]?)
        do throws(HTTPResponse) { result = try parser.parse(input) } catch { throw notHTTP() }
        let start = parser.received.prefix(5)
        if start.first == 0x15 || start.first == 0x16 {
            throw TransportError(
                .tlsMismatch, "\(server) speaks TLS: connect with wss:// instead of ws://", outlook: .unclear)
        }
        guard start.elementsEqual("HTTP/".utf8.prefix(start.count)) else { throw notHTTP() }
        return result
    }

    private func notHTTP() -> TransportError {
        TransportError(
            .protocolViolation, "\(server) does not answer in HTTP/1.1: it is not a WebSocket server", outlook: .unclear
        )
    }

    private func parse(_ lines: [ArraySlice<UInt8>]) throws(TransportError) -> (Int, HTTPHeaders) {
        let first = lines.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let words = first.utf8.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].elementsEqual("HTTP/1.1".utf8) || words[0].elementsEqual("HTTP/1.0".utf8),
            words[1].count == 3, let status = Int(String(decoding: words[1], as: UTF8.self)), status >= 100
        else { throw notHTTP() }
        do throws(HTTPResponse) {
            return (status, try HTTPHeadParser.headers(lines.dropFirst()))
        } catch {
            throw TransportError(
                .protocolViolation, "\(server) answers with a malformed HTTP header", outlook: .unclear)
        }
    }

    private func check(_ headers: HTTPHeaders) throws(TransportError) {
        guard headers.has("Upgrade", "websocket"), headers.has("Connection", "Upgrade") else {
            throw TransportError(
                .protocolViolation, "\(server) switches to a protocol other than WebSocket", outlook: .unclear)
        }
        guard headers.values("Sec-WebSocket-Accept") == [WebSocketKey.accept(key)] else {
            throw TransportError(
                .protocolViolation, "\(server) answers with the wrong Sec-WebSocket-Accept", outlook: .unclear)
        }
        guard headers["Sec-WebSocket-Extensions"] == nil else {
            throw TransportError(.protocolViolation, "\(server) uses an extension that was not offered")
        }
        let chosen = headers.values("Sec-WebSocket-Protocol")
        let isRight = subprotocols.isEmpty ? chosen.isEmpty : chosen.count == 1 && subprotocols.contains(chosen[0])
        guard isRight else {
            throw TransportError(
                .protocolViolation, "\(server) does not speak the protocol \(subprotocols.joined(separator: ", "))")
        }
    }

    private mutating func collect(_ input: Slice<UnsafeRawBufferPointer>) throws(TransportError) {
        guard var refusal else { return }
        let limit = min(refusal.bodyByteCount ?? .max, ClientHandshake.refusalByteCountMax)
        refusal.body.append(contentsOf: input.prefix(max(0, limit - refusal.body.count)))
        self.refusal = refusal
        if refusal.body.count >= limit { throw error(for: refusal) }
    }

    private func error(for refusal: Refusal) -> TransportError {
        let printable = refusal.body.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }
        let answer = ASCII.trimmed(String(decoding: printable, as: UTF8.self)[...].utf8)
        // A page for browsers tells less than the status.
        let text = answer.hasPrefix("<") ? "" : answer
        let phrase = HTTPResponse.reason(refusal.status)
        return TransportError(
            refusal.asksForTLS ? .tlsMismatch : .upgradeRefused,
            "\(server) refused the connection: \(refusal.status) \(phrase)\(text.isEmpty ? "" : ": \(text)")",
            outlook: refusal.asksForTLS ? .unclear : .init(answeredWith: refusal.status), httpStatus: refusal.status,
            retryAfter: refusal.retryAfter)
    }
}
