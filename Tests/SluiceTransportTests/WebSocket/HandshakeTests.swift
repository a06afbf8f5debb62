import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

@Suite struct HandshakeTests {
    @Test func acceptKeyIsTheOneInTheStandard() {
        #expect(WebSocketKey.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    private func step(_ head: String, subprotocols: [String] = ["sluice.1"]) -> ServerHandshake.Step {
        var handshake = ServerHandshake(subprotocols: subprotocols)
        return Array(head.utf8).withUnsafeBytes { handshake.receive($0).step }
    }

    @Test(arguments: [
        ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 12", 426),
        ("Sec-WebSocket-Version: 13\r\n", "", 426),
        ("Upgrade: websocket", "Upgrade: h2c", 400),
        ("Connection: Upgrade", "Connection: close", 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ", 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "", 400),
        ("sluice.1", "chat, superchat", 400),
        ("GET ", "POST ", 405),
        ("Host: test\r\n", "", 400),
        ("Host: test", "Host: test\r\nHost: other", 400),
        ("HTTP/1.1", "HTTP/1.0", 505),
        ("HTTP/1.1", "HTTP/2.0", 505),
        ("GET /db", "GET db", 400),
        ("GET /db", "GET  /db", 400),
        ("Host: test", "Host : test", 400),
        ("Host: test", "Host: test\r\n folded: x", 400),
        ("Host: test", "Host: te\u{1}st", 400),
        ("Host: test\r\n", "Host: test\n", 400),
        ("Host: test", "Host: test\r\nContent-Length: 5", 400),
        ("Host: test", "Host: test\r\nTransfer-Encoding: chunked", 400),
        ("Host: test", "Host: test" + String(repeating: "\r\nX: y", count: 100), 431),
        ("Host: test", "Host: test\r\nX: " + String(repeating: "y", count: 8_192), 431),
        ("GET /db", "\u{16}\u{3}\u{1}", 400),
    ])
    func wrongRequestIsRefusedWithItsStatus(part: String, replacement: String, status: Int) {
        let request = RawSocket.upgradeRequest.replacing(part, with: replacement)
        guard case .refuse(let response) = step(request) else {
            Issue.record("\(replacement) was not refused")
            return
        }
        #expect(response.status == status)
        #expect(response.body.count > 10)
    }

    @Test func upgradeChoosesTheSubprotocolSpokenHere() {
        let request = RawSocket.upgradeRequest.replacing("sluice.1", with: "chat, sluice.1")
        guard case .upgrade(let parsed, let subprotocol) = step(request) else {
            Issue.record("not an upgrade")
            return
        }
        #expect(subprotocol == "sluice.1")
        #expect(parsed.path == "/db")
        let response = String(decoding: ServerHandshake.response(to: parsed, subprotocol: subprotocol), as: UTF8.self)
        #expect(response.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
        #expect(response.contains("Sec-WebSocket-Protocol: sluice.1\r\n"))
    }

    @Test func requestHasPathAndQuery() {
        guard case .request(let request) = step("GET /metrics?a=b HTTP/1.1\r\nhost: x\r\n\r\n") else {
            Issue.record("not a request")
            return
        }
        #expect(request.path == "/metrics")
        #expect(request.query == "a=b")
        #expect(request.headers["HOST"] == "x")
    }

    /// Mutated requests in pieces give an answer or wait for more; the parser reads no more bytes than it was given.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func mutatedRequestNeverTraps(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bytes = Array(RawSocket.upgradeRequest.utf8)
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
            let position = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[position] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: position)
            default: bytes.insert([0x0A, 0x0D, 0x3A, 0x20].randomElement(using: &generator) ?? 0, at: position)
            }
        }
        var handshake = ServerHandshake(subprotocols: ["sluice.1"])
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int.random(in: 1...60, using: &generator)))
            let (consumed, step) = piece.withUnsafeBytes { handshake.receive($0) }
            #expect(consumed <= piece.count, "seed \(seed)")
            guard case .wait = step else { return }
            rest = rest.dropFirst(piece.count)
        }
    }

    @Test(
        arguments: [
            (200, .unclear), (204, .unclear), (301, .unclear), (307, .unclear), (400, .unclear), (401, .lasting),
            (403, .unclear), (404, .unclear), (407, .lasting), (408, .passing), (425, .passing), (426, .unclear),
            (429, .passing), (500, .passing), (502, .passing), (503, .passing), (599, .passing),
        ] as [(Int, TransportError.Outlook)])
    func theStatusOfARefusalSaysWhetherItMayPass(status: Int, outlook: TransportError.Outlook) {
        var handshake = ClientHandshake(
            key: "dGhlIHNhbXBsZSBub25jZQ==", subprotocols: ["sluice.1"], server: "example")
        let answer = "HTTP/1.1 \(status) No\r\nContent-Length: 2\r\n\r\nno"
        let error = #expect(throws: TransportError.self) {
            try Array(answer.utf8).withUnsafeBytes { _ = try handshake.receive($0) }
            throw handshake.endOfInput()
        }
        #expect(error?.httpStatus == status && error?.outlook == outlook && error?.retryAfter == nil)
    }

    @Test(
        arguments: [
            ("0", .zero), ("120", .seconds(120)), ("99999999999999999999", .seconds(Int64(Int32.max))), ("-1", nil),
            ("1.5", nil), ("", nil), ("Fri, 31 Dec 1999 23:59:59 GMT", nil), ("5, 6", nil),
        ] as [(String, Duration?)])
    func aRefusalMayAskToWait(value: String, expected: Duration?) {
        var handshake = ClientHandshake(key: "k", subprotocols: [], server: "example")
        let answer = "HTTP/1.1 503 Busy\r\nRetry-After: \(value)\r\nContent-Length: 0\r\n\r\n"
        let error = #expect(throws: TransportError.self) {
            _ = try Array(answer.utf8).withUnsafeBytes { bytes in try handshake.receive(bytes) }
        }
        #expect(error?.retryAfter == expected)
    }

    @Test(arguments: [
        ("HTTP/1.1 101 ", "HTTP/1.1 403 ", "upgrade-refused"),
        ("HTTP/1.1 101 ", "SSH-2.0-OpenSSH_9.2\r\n", "protocol-violation"),
        ("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "t3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "protocol-violation"),
        ("Upgrade: websocket", "Upgrade: h2c", "protocol-violation"),
        ("Sec-WebSocket-Protocol: sluice.1", "Sec-WebSocket-Protocol: chat", "protocol-violation"),
        ("Sec-WebSocket-Protocol: sluice.1\r\n", "", "protocol-violation"),
        ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "protocol-violation"),
        ("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\nno", ""),
    ])
    func wrongAnswerIsAClearError(part: String, replacement: String, code: String) {
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: sluice.1\r\n\r\n"
        var handshake = ClientHandshake(
            key: "dGhlIHNhbXBsZSBub25jZQ==", subprotocols: ["sluice.1"], server: "example")
        var error: TransportError?
        Array(answer.replacing(part, with: replacement).utf8).withUnsafeBytes { bytes in
            do throws(TransportError) {
                if try !handshake.receive(bytes).isComplete { error = handshake.endOfInput() }
            } catch let thrown {
                error = thrown
            }
        }
        #expect((error?.code.rawValue ?? "") == code)
    }

    /// A page for browsers is left out: some other program answers.
    @Test(arguments: [("no token\n", ": no token"), ("\n<!DOCTYPE HTML>\n<html>no</html>", ""), ("", "")])
    func refusalCarriesStatusAndText(body: String, text: String) {
        var handshake = ClientHandshake(key: "k", subprotocols: [], server: "example:80")
        let head = "HTTP/1.1 401 Unauthorized\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        let answer = Array((head + body).utf8)
        let error = #expect(throws: TransportError.self) {
            _ = try answer.withUnsafeBytes { bytes in try handshake.receive(bytes) }
        }
        #expect(error?.httpStatus == 401)
        #expect(error?.message == "example:80 refused the connection: 401 Unauthorized\(text)")
        #expect(error?.outlook == .lasting)
    }

    @Test(arguments: ["Host", "bad name", "X"])
    func forbiddenHeaderIsRefusedBeforeConnecting(name: String) throws {
        let handshake = ClientHandshake(key: "k", subprotocols: [], server: "example")
        var headers = HTTPHeaders()
        headers.append(name, name == "X" ? "a\r\nInjected: b" : "v")
        #expect(throws: TransportError.self) {
            _ = try handshake.request(for: try Endpoint("ws://example"), headers: headers)
        }
    }
}
