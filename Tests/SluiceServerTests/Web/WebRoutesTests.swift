import SluiceTransport
import Synchronization
import Testing

@testable import SluiceServer

/// Routes and answers, without sockets.
struct WebRoutesTests {
    /// Keeps what would be sent.
    final class Recording: HTTPOutput {
        private struct State {
            var bytes: [UInt8] = []
            var isEnded = false
        }

        private let state = Mutex(State())

        var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }
        var isEnded: Bool { state.withLock { $0.isEnded } }
        var isAnswerHeldUp: Bool { false }

        func sendAnswer(_ bytes: [UInt8]) { state.withLock { $0.bytes += bytes } }
        func noteWork() {}
        func endAnswer() { state.withLock { $0.isEnded = true } }
        func abortAnswer() {}
    }

    private func request(_ method: String, _ target: String, _ headers: HTTPHeaders = [:]) -> HTTPRequest {
        HTTPRequest(method: method, target: target, headers: headers)
    }

    /// The answer of routes to a request with a body.
    private func answer(_ routes: WebRoutes, _ request: HTTPRequest) -> String {
        switch routes.route(request) {
        case .respond(let response): return String(decoding: response.encoded(), as: UTF8.self)
        case .take(_, let answer):
            let output = Recording()
            answer(HTTPExchange(request, body: [], to: output))
            #expect(output.isEnded)
            return output.text
        }
    }

    private static let routes: WebRoutes = {
        var routes = WebRoutes()
        routes.add("GET", "/a") { $0.respond(HTTPResponse(status: 200, text: "a")) }
        routes.add("POST", "/a", bodyByteCountMax: 7) { $0.respond(HTTPResponse(status: 204)) }
        routes.add("POST", "/b") { $0.respond(HTTPResponse(status: 204)) }
        return routes
    }()

    @Test(arguments: [
        ("GET", "/a", 200), ("GET", "/a?x=y", 200), ("HEAD", "/a", 200), ("POST", "/a", 204), ("GET", "/b", 405),
        ("HEAD", "/b", 405), ("DELETE", "/a", 405), ("GET", "/", 404), ("GET", "/a/", 404), ("BREW", "/c", 404),
    ])
    func pathAndMethodDecide(method: String, target: String, status: Int) {
        #expect(answer(Self.routes, request(method, target)).hasPrefix("HTTP/1.1 \(status) "))
    }

    @Test func refusedMethodIsToldWhatIsAllowed() {
        #expect(answer(Self.routes, request("PUT", "/a")).contains("\r\nAllow: GET, HEAD, POST\r\n"))
        #expect(answer(Self.routes, request("GET", "/b")).contains("\r\nAllow: POST\r\n"))
    }

    /// What the server itself answers is kept by nobody either.
    @Test(arguments: [("GET", "/c"), ("GET", "/b"), ("GET", "/a")])
    func `of a text whatever its status no cache keeps anything and no browser guesses the type`(
        method: String, target: String
    ) {
        let answer = answer(Self.routes, request(method, target))
        for header in [
            "Content-Type: text/plain; charset=utf-8", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
            "Cross-Origin-Resource-Policy: same-origin",
        ] { #expect(answer.contains("\r\n\(header)\r\n"), "\(target) lacks \(header)") }
    }

    @Test func eachRouteSaysHowLongABodyMayBe() {
        func byteCountMax(_ method: String) -> Int? {
            if case .take(let count, _) = Self.routes.route(request(method, "/a")) { count } else { nil }
        }
        #expect(byteCountMax("POST") == 7)
        #expect(byteCountMax("GET") == 0)
    }

    @Test func `a page of databases that is added is one that pages of other sites may ask for`() throws {
        let parts = try ServerParts(ServerConfiguration(port: 0, isDevelopment: true))
        let pages = DatabasePages(door: parts.door, origins: parts.origins, limits: parts.limits.server)
        var routes = WebRoutes()
        pages.add("GET", "added", to: &routes) { exchange, _ in exchange.respond(HTTPResponse(status: 200)) }
        let page: HTTPHeaders = ["Host": "localhost", "Origin": "http://localhost"]
        let preflight = answer(routes, request("OPTIONS", "/any/added", page))
        #expect(preflight.hasPrefix("HTTP/1.1 204 "), "\(preflight)")
        #expect(preflight.contains("\r\nAccess-Control-Allow-Origin: http://localhost\r\n"))
    }

    // MARK: Health

    private func health(_ health: ServerHealth, _ request: HTTPRequest) -> String {
        var routes = WebRoutes()
        HealthPages(health: { health }).add(to: &routes)
        return answer(routes, request)
    }

    @Test func liveSaysSoWhateverIsReady() {
        let answer = health(ServerHealth(phase: .draining), request("GET", "/health/live"))
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        #expect(answer.hasSuffix("{\"state\":\"live\"}\n"))
    }

    @Test(arguments: [
        (ServerHealth.Phase.starting, 503), (.serving, 200), (.draining, 503), (.stopped, 503),
    ])
    func readyIsServing(phase: ServerHealth.Phase, status: Int) {
        let answer = health(ServerHealth(phase: phase), request("GET", "/health/ready"))
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
        #expect(answer.contains("\"state\":\"\(phase.rawValue)\",\"ready\":\(status == 200)"))
        #expect(answer.contains("\r\nRetry-After: 1\r\n") == (status == 503))
    }

    @Test(
        arguments: [
            ["Origin": "https://example.org"], ["Sec-Fetch-Mode": "no-cors"], ["Sec-Fetch-Mode": "cors"],
        ] as [HTTPHeaders])
    func pageOfABrowserGetsTheStatusAlone(headers: HTTPHeaders) {
        let answer = health(ServerHealth(phase: .draining), request("GET", "/health/ready", headers))
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.hasSuffix("\r\n\r\n"))
        #expect(!answer.contains("Access-Control"))
        #expect(answer.contains("\r\nCross-Origin-Resource-Policy: same-origin\r\n"))
    }

    @Test func personWhoTypesTheAddressGetsAll() {
        let typed: HTTPHeaders = ["Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none"]
        #expect(health(ServerHealth(phase: .serving), request("GET", "/health/ready", typed)).contains("\"open\":0"))
    }

    // MARK: Metrics

    @Test(
        arguments: [
            ("localhost:9464", true, [:], 200), ("127.0.0.1:9464", true, [:], 200), ("[::1]:9464", true, [:], 200),
            ("evil.example", true, [:], 421), ("evil.example:9464", true, [:], 421),
            ("node.example:9464", false, [:], 200),
            ("localhost", true, ["Origin": "https://example.org"], 403),
            ("localhost", true, ["Sec-Fetch-Mode": "cors"], 403),
            ("localhost", true, ["Sec-Fetch-Mode": "navigate"], 200),
        ] as [(String, Bool, HTTPHeaders, Int)])
    func metricsAreNotForPages(host: String, isLoopback: Bool, more: HTTPHeaders, status: Int) async {
        var routes = WebRoutes()
        MetricsPage(text: { "numbers\n" }, isLoopback: isLoopback).add(to: &routes)
        var headers = more
        headers.append("Host", host)
        guard case .take(_, let answer) = routes.route(request("GET", "/metrics", headers)) else {
            Issue.record("/metrics is not there")
            return
        }
        let (ends, end) = AsyncStream<String>.makeStream()
        answer(HTTPExchange(request("GET", "/metrics", headers), body: [], to: Waiting(end)))
        var text = ""
        for await piece in ends { text += piece }
        #expect(text.hasPrefix("HTTP/1.1 \(status) "))
        #expect(text.contains("numbers") == (status == 200))
        if status == 200 { #expect(text.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n")) }
    }

    private final class Waiting: HTTPOutput {
        private let pieces: AsyncStream<String>.Continuation
        let isAnswerHeldUp = false

        init(_ pieces: AsyncStream<String>.Continuation) { self.pieces = pieces }

        func sendAnswer(_ bytes: [UInt8]) { pieces.yield(String(decoding: bytes, as: UTF8.self)) }
        func noteWork() {}
        func endAnswer() { pieces.finish() }
        func abortAnswer() { pieces.finish() }
    }
}
