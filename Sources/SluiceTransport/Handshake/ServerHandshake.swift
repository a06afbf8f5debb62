/// The server's half of the opening handshake (RFC 6455, section 4.2).
package struct ServerHandshake {
    /// What to do after the bytes received so far.
    package enum Step {
        /// The head is not whole yet.
        case wait
        /// The request is none for an upgrade; answer it.
        case request(HTTPRequest)
        /// The request is a well-formed upgrade; complete it with ``ServerHandshake/response(to:subprotocol:)``.
        case upgrade(HTTPRequest, subprotocol: String?)
        /// Send this response and close.
        case refuse(HTTPResponse)
    }

    private var parser = HTTPHeadParser()
    private let subprotocols: [String]

    /// - Parameter subprotocols: the supported ones, in order of preference; if there are any, clients must offer one.
    package init(subprotocols: [String]) { self.subprotocols = subprotocols }

    /// Reads bytes up to the end of the request head.
    package mutating func receive(_ input: UnsafeRawBufferPointer) -> (consumed: Int, step: Step) {
        do throws(HTTPResponse) {
            let (consumed, lines) = try parser.parse(input)
            if let first = parser.received.first, !ASCII.isToken(first) {
                return (consumed, .refuse(refusal(firstByte: first)))
            }
            guard let lines else { return (consumed, .wait) }
            return (consumed, try step(HTTPRequest(parsing: lines)))
        } catch {
            return (input.count, .refuse(error))
        }
    }

    private func refusal(firstByte: UInt8) -> HTTPResponse {
        let isTLS = firstByte == 0x16
        return HTTPResponse(
            status: 400,
            text: isTLS ? "this port does not speak TLS: connect with ws:// instead of wss://" : "this is not HTTP")
    }

    private func step(_ request: HTTPRequest) throws(HTTPResponse) -> Step {
        guard request.isUpgrade else { return .request(request) }
        guard request.method == "GET" else {
            var response = HTTPResponse(status: 405, text: "an upgrade to WebSocket uses GET")
            response.headers.append("Allow", "GET")
            throw response
        }
        guard request.version == .http11 else {
            throw HTTPResponse(status: 505, text: "an upgrade to WebSocket uses HTTP/1.1")
        }
        // What follows the head would be taken for WebSocket frames.
        guard request.headers["Transfer-Encoding"] == nil,
            request.headers.values("Content-Length").allSatisfy({ $0 == "0" })
        else { throw HTTPResponse(status: 400, text: "an upgrade to WebSocket has no body") }
        guard request.headers.has("Upgrade", "websocket"), request.headers.has("Connection", "Upgrade") else {
            throw HTTPResponse(
                status: 400, text: "an upgrade needs the headers Upgrade: websocket and Connection: Upgrade")
        }
        guard request.headers.values("Sec-WebSocket-Version") == ["13"] else {
            var response = HTTPResponse(status: 426, text: "this server speaks version 13 of WebSocket")
            response.headers.append("Sec-WebSocket-Version", "13")
            throw response
        }
        let keys = request.headers.values("Sec-WebSocket-Key")
        guard keys.count == 1, WebSocketKey.isWellFormed(keys[0]) else {
            throw HTTPResponse(status: 400, text: "Sec-WebSocket-Key is not sixteen bytes in base 64")
        }
        guard !subprotocols.isEmpty else { return .upgrade(request, subprotocol: nil) }
        let offered = request.headers.elements("Sec-WebSocket-Protocol")
        guard let chosen = subprotocols.first(where: { offered.contains($0) }) else {
            throw HTTPResponse(
                status: 400,
                text: "Sec-WebSocket-Protocol offers nothing spoken here: \(subprotocols.joined(separator: ", "))")
        }
        return .upgrade(request, subprotocol: chosen)
    }

    /// The response that completes an upgrade.
    package static func response(to request: HTTPRequest, subprotocol: String?) -> [UInt8] {
        let accept = WebSocketKey.accept(request.headers["Sec-WebSocket-Key"] ?? "")
        var head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Accept: \(accept)\r\n"
        if let subprotocol { head += "Sec-WebSocket-Protocol: \(subprotocol)\r\n" }
        return Array((head + "\r\n").utf8)
    }
}
