import Testing

@testable import SluiceTransport

/// The two transports on which every behaviour test runs.
enum Twin: CaseIterable, Sendable {
    case sockets
    case memory
}

/// A server and its clients over one of the two transports.
struct TestNetwork: Sendable {
    private enum Kind {
        case sockets(EventLoopGroup, WebSocketServer)
        case memory(EventLoop, LoopbackNetwork)
    }

    private let kind: Kind
    private let endpoint: Endpoint
    private let options: WebSocketOptions
    let refusals = Observed<[TransportError]>([])
    let accepted = Observed<[Recorder]>([])

    /// Starts a server that gives each connection a delegate.
    init(
        _ twin: Twin, options: WebSocketOptions = .patient, loopCount: Int = 2,
        accept: (@Sendable (HTTPRequest) -> UpgradeDecision)? = nil,
        makeDelegate: @escaping @Sendable () -> Recorder = { Recorder.echo() }
    ) throws {
        self.options = options
        let refusals = self.refusals
        let accepted = self.accepted
        let hooks = ServerHooks(
            accept: { request, _ in
                if let accept { return accept(request) }
                let recorder = makeDelegate()
                accepted.update { $0.append(recorder) }
                return .accept(recorder)
            }, didRefuse: { _, error in refusals.update { $0.append(error) } })
        switch twin {
        case .sockets:
            let group = try EventLoopGroup(loopCount: loopCount)
            var serverOptions = WebSocketServerOptions()
            serverOptions.connection = options
            let server = try WebSocketServer.listen(
                host: "127.0.0.1", port: 0, options: serverOptions, group: group, hooks: hooks)
            kind = .sockets(group, server)
            endpoint = try Endpoint("ws://127.0.0.1:\(server.port)/db?x=1")
        case .memory:
            let loop = try EventLoop()
            let network = LoopbackNetwork(options: options) { loop.execute($0) }
            try network.listen("server", hooks: hooks)
            kind = .memory(loop, network)
            endpoint = try Endpoint("ws://server/db?x=1")
        }
    }

    var port: UInt16 { endpoint.port }

    func connect(_ delegate: Recorder, headers: HTTPHeaders = [:]) throws -> any MessageConnection {
        switch kind {
        case .sockets(let group, _):
            var clientOptions = WebSocketClientOptions()
            clientOptions.connection = options
            clientOptions.headers = headers
            return try WebSocketClient.connect(
                to: endpoint, options: clientOptions, loop: group.next(), delegate: delegate)
        case .memory(_, let network):
            return network.connect(to: endpoint, headers: headers, delegate: delegate)
        }
    }

    /// The delegate of the first connection that the server accepted.
    func firstAccepted() async throws -> Recorder {
        try await accepted.wait(for: "a connection") { !$0.isEmpty }[0]
    }

    /// Stops accepting connections, and closes the existing ones.
    func stopServer(grace: Duration = .seconds(10)) async {
        switch kind {
        case .sockets(_, let server): await server.stop(grace: grace)
        case .memory(_, let network): network.stopListening("server")
        }
    }

    func tearDown() async {
        await stopServer(grace: .zero)
        switch kind {
        case .sockets(let group, _): group.stop()
        case .memory(let loop, _): loop.stop()
        }
    }
}

/// Runs a test with a network, and shuts the network down afterwards.
func withNetwork(
    _ network: @autoclosure () throws -> TestNetwork, _ body: (TestNetwork) async throws -> Void
) async throws {
    let network = try network()
    do { try await body(network) } catch {
        await network.tearDown()
        throw error
    }
    await network.tearDown()
}

extension WebSocketOptions {
    /// Pings come only after an hour of silence, so that a test which the machine keeps waiting loses no connection.
    static var patient: WebSocketOptions {
        var options = WebSocketOptions()
        options.pingInterval = .seconds(3_600)
        return options
    }
}
