import Foundation
import TestSupport
import Testing

@testable import SluiceTransport

/// Requests that are none for an upgrade, over sockets.
@Suite(.serialized) struct HTTPServingTests {
    /// Serves while `body` runs.
    private func serve(
        options: WebSocketServerOptions = .init(), route: @escaping @Sendable (HTTPRequest) -> HTTPRoute,
        _ body: (WebSocketServer) async throws -> Void
    ) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let server = try WebSocketServer.listen(
            host: "127.0.0.1", port: 0, options: options, group: group,
            hooks: ServerHooks(accept: { _, _ in .reject(status: 403, text: "no") }, route: route))
        let result: Result<Void, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        await server.stop()
        group.stop()
        try result.get()
    }

    private func ask(_ server: WebSocketServer, _ request: String) throws -> String {
        let raw = try RawSocket(port: server.port)
        raw.send(request)
        return String(decoding: raw.receiveUntilEnd(), as: UTF8.self)
    }

    private static func echo(byteCountMax: Int = 16) -> @Sendable (HTTPRequest) -> HTTPRoute {
        { request in
            guard request.path == "/echo" else { return .notFound }
            return .take(bodyByteCountMax: byteCountMax) { exchange in
                exchange.respond(HTTPResponse(status: 200, body: exchange.body))
            }
        }
    }

    @Test(arguments: [
        ("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", 200, ""),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
        (
            "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 200,
            "hello"
        ),
        // What follows a request is not answered: the answer says that the connection closes.
        ("GET /echo HTTP/1.1\r\nHost: x\r\n\r\nGET /echo HTTP/1.1\r\nHost: x\r\n\r\n", 200, ""),
        ("HEAD /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 200, ""),
        ("GET /echo HTTP/1.0\r\n\r\n", 200, ""), ("POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", 200, "hi"),
        ("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "HTTP/1.0"),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n", 413, "at most 16 bytes"),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n", 413, "at most 16 bytes"),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n", 400, "hexadecimal"),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400, "chunked"),
        ("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\nx", 417, "100-continue"),
        ("POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 404, "nothing at this path"),
        ("nonsense\r\n\r\n", 400, "request line"),
    ])
    func requestIsAnsweredAndTheConnectionCloses(request: String, status: Int, text: String) async throws {
        try await serve(route: Self.echo()) { server in
            let answer = try ask(server, request)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(answer.contains("\r\nConnection: close\r\n"))
            if text.isEmpty {
                #expect(answer.hasSuffix("\r\n\r\n"))
            } else {
                #expect(answer.contains(text), "\(answer)")
            }
        }
    }

    @Test func clientThatWaitsForTheInvitationGetsItOnlyIfItsBodyIsTaken() async throws {
        try await serve(route: Self.echo()) { server in
            let raw = try RawSocket(port: server.port)
            raw.send("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
            #expect(raw.receiveHead() == "HTTP/1.1 100 Continue\r\n\r\n")
            raw.send("hello")
            #expect(String(decoding: raw.receiveUntilEnd(), as: UTF8.self).hasSuffix("\r\n\r\nhello"))
            for (target, length, status) in [("/echo", 17, 413), ("/other", 5, 404), ("/echo", 0, 200)] {
                let answer = try ask(
                    server,
                    "POST \(target) HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: \(length)\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
            }
        }
    }

    @Test func bodyThatDoesNotArriveIsGivenUp() async throws {
        var options = WebSocketServerOptions()
        options.connection.openTimeout = .milliseconds(50)
        try await serve(options: options, route: Self.echo()) { server in
            let answer = try ask(server, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel")
            #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
        }
    }

    @Test func answerMayComeLaterFromAnyThread() async throws {
        let waiting = Observed<[HTTPExchange]>([])
        try await serve(route: { _ in .take(bodyByteCountMax: 0) { exchange in waiting.update { $0.append(exchange) } }
        }) {
            server in
            let raw = try RawSocket(port: server.port)
            raw.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n")
            // A client may end its half of the connection once it has asked.
            raw.endWriting()
            let exchange = try await waiting.wait(for: "the request") { !$0.isEmpty }[0]
            waiting.update { $0 = [] }
            await Task.detached { exchange.respond(HTTPResponse(status: 200, text: "at last")) }.value
            #expect(String(decoding: raw.receiveUntilEnd(), as: UTF8.self).hasSuffix("\r\n\r\nat last\n"))
            // A second answer changes nothing.
            exchange.respond(HTTPResponse(status: 500))
        }
    }

    @Test func requestThatIsForgottenOrTakesTooLongIsAnsweredAllTheSame() async throws {
        let kept = Observed<[HTTPExchange]>([])
        var options = WebSocketServerOptions()
        options.connection.answerTimeout = .milliseconds(50)
        try await serve(
            options: options,
            route: { request in
                .take(bodyByteCountMax: 0) { exchange in
                    if request.path == "/kept" { kept.update { $0.append(exchange) } }
                }
            }
        ) { server in
            let answer = try ask(server, "GET /forgotten HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 500 "), "\(answer)")
            let late = try ask(server, "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(late.hasPrefix("HTTP/1.1 503 "), "\(late)")
            kept.update { $0 = [] }
        }
    }

    @Test func anAnswerThatIsBeingMadeMayTakeLongerThanOneThatNobodyMakes() async throws {
        let kept = Observed<[HTTPExchange]>([])
        var options = WebSocketServerOptions()
        options.connection.answerTimeout = .seconds(1)
        try await serve(
            options: options,
            route: { _ in .take(bodyByteCountMax: 0) { exchange in kept.update { $0.append(exchange) } } }
        ) { server in
            let raw = try RawSocket(port: server.port)
            raw.send("GET /made HTTP/1.1\r\nHost: x\r\n\r\n")
            let exchange = try await kept.wait(for: "the request") { !$0.isEmpty }[0]
            // On a thread of its own, since those of tasks may all be waiting.
            let work = Thread { while !Thread.current.isCancelled { exchange.noteWork() } }
            work.start()
            // Its time ends before that of a later one.
            let late = try ask(server, "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(late.hasPrefix("HTTP/1.1 503 "), "\(late)")
            work.cancel()
            exchange.respond(HTTPResponse(status: 200, text: "at last"))
            #expect(String(decoding: raw.receiveUntilEnd(), as: UTF8.self).hasSuffix("\r\n\r\nat last\n"))
            kept.update { $0 = [] }
        }
    }

    @Test(arguments: ["1.1", "1.0"]) func answerMayComeInPieces(version: String) async throws {
        try await serve(route: { _ in
            .take(bodyByteCountMax: 0) { exchange in
                Task {
                    guard exchange.begin(status: 200, ["Content-Type": "text/plain"]) else { return }
                    for piece in ["one ", "", "two ", "three"] { _ = await exchange.write(Array(piece.utf8)) }
                    exchange.end()
                }
            }
        }) { server in
            let answer = try ask(server, "GET / HTTP/\(version)\r\nHost: x\r\n\r\n")
            #expect(answer.contains("Transfer-Encoding: chunked") == (version == "1.1"))
            #expect(
                answer.hasSuffix(
                    version == "1.1"
                        ? "\r\n\r\n4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n" : "\r\n\r\none two three"))
            let head = try ask(server, "HEAD / HTTP/\(version)\r\nHost: x\r\n\r\n")
            #expect(head.hasPrefix("HTTP/1.1 200 "))
            #expect(head.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func whoWritesWaitsForAPeerThatDoesNotRead() async throws {
        let piece = [UInt8](repeating: 7, count: 1 << 16)
        let written = Observed(0)
        let isOver = Observed(false)
        try await serve(route: { _ in
            .take(bodyByteCountMax: 0) { exchange in
                Task {
                    exchange.begin(status: 200, [:])
                    while await exchange.write(piece) { written.update { $0 += 1 } }
                    isOver.update { $0 = true }
                }
            }
        }) { server in
            let raw = try RawSocket(port: server.port, receiveBufferByteCount: 4_096)
            raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = raw.receiveHead()
            // What a peer has taken and what the system keeps for it is all that is written.
            var received = 0
            while received < 4 << 20 { received += raw.receive().count }
            let count = try await written.wait(for: "further pieces") { $0 * piece.count > 4 << 20 }
            #expect(count * piece.count < received + (16 << 20))
            raw.reset()
            try await isOver.wait(for: "the end of an answer that nobody takes") { $0 }
        }
    }

    @Test func peerThatTakesNothingOfAnAnswerIsGivenUp() async throws {
        let isOver = Observed(false)
        var options = WebSocketServerOptions()
        options.connection.answerTimeout = .milliseconds(100)
        try await serve(
            options: options,
            route: { _ in
                .take(bodyByteCountMax: 0) { exchange in
                    Task {
                        exchange.begin(status: 200, [:])
                        while await exchange.write([UInt8](repeating: 7, count: 1 << 16)) {}
                        isOver.update { $0 = true }
                    }
                }
            }
        ) { server in
            let raw = try RawSocket(port: server.port, receiveBufferByteCount: 4_096)
            raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            try await isOver.wait(for: "the end of an answer that nobody takes") { $0 }
        }
    }

    @Test func answerThatIsCutOffDoesNotLookWhole() async throws {
        try await serve(route: { request in
            .take(bodyByteCountMax: 0) { exchange in
                Task {
                    exchange.begin(status: 200, [:])
                    _ = await exchange.write([0x41])
                    if request.path == "/cut" { exchange.abort() }
                    // Else it is forgotten.
                }
            }
        }) { server in
            for path in ["/cut", "/forgotten"] {
                let answer = try ask(server, "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(!answer.hasSuffix("0\r\n\r\n"))
            }
        }
    }

    @Test func answersHaveALimitOfTheirOwn() async throws {
        let waiting = Observed<[HTTPExchange]>([])
        var options = WebSocketServerOptions()
        options.answerCountMax = 1
        options.connectionCountMax = 0
        try await serve(
            options: options,
            route: { _ in .take(bodyByteCountMax: 0) { exchange in waiting.update { $0.append(exchange) } } }
        ) { server in
            let first = try RawSocket(port: server.port)
            first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            let exchange = try await waiting.wait(for: "the request") { !$0.isEmpty }[0]
            waiting.update { $0 = [] }
            let answer = try ask(server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
            exchange.respond(HTTPResponse(status: 200))
            #expect(String(decoding: first.receiveUntilEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func serverThatStopsAnswersWhatHasBegunAndRefusesTheRest() async throws {
        let waiting = Observed<[HTTPExchange]>([])
        let group = try EventLoopGroup(loopCount: 1)
        let server = try WebSocketServer.listen(
            host: "127.0.0.1", port: 0, group: group,
            hooks: ServerHooks(
                accept: { _, _ in .reject(status: 403, text: "no") },
                route: { _ in .take(bodyByteCountMax: 0) { exchange in waiting.update { $0.append(exchange) } } }))
        let raw = try RawSocket(port: server.port)
        raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try await waiting.wait(for: "the request") { !$0.isEmpty }
        async let stopped: Void = server.stop()
        #expect(String(decoding: raw.receiveUntilEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 503 "))
        raw.disconnect()
        await stopped
        waiting.update { $0 = [] }
        group.stop()
    }
}
