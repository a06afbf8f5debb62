/// How a client reaches its server.
package struct WebSocketClientOptions: Hashable, Sendable {
    /// Limits and times.
    package var connection = WebSocketOptions()
    /// Which certificates are accepted; only used with `wss://`.
    package var trust = TLSTrust.systemAuthorities
    /// Where ``trust`` is configured, for messages.
    package var trustSetting = "the client's trust"
    /// Header fields that are added to the upgrade request.
    package var headers = HTTPHeaders()
    /// The network interface to go through, `eth0` for instance; nil leaves it to the system.
    package var networkInterface: String?

    package init() {}
}

/// Makes connections to WebSocket servers.
package enum WebSocketClient {
    /// Begins to connect, and returns at once.
    ///
    /// - Parameters:
    ///   - loop: serves the connection.
    ///   - delegate: retained until `connection(_:didCloseWith:)`, which also reports a failure to connect.
    /// - Returns: the connection, not yet open. Messages can be sent already; `abort()` cancels.
    /// - Throws: when the options cannot be used: a missing certificate file, a malformed header.
    package static func connect(
        to endpoint: Endpoint, options: WebSocketClientOptions = .init(), loop: EventLoop,
        delegate: any MessageConnectionDelegate
    ) throws(TransportError) -> any MessageConnection {
        var generator = SystemRandomNumberGenerator()
        let handshake = ClientHandshake(
            key: WebSocketKey.random(using: &generator), subprotocols: options.connection.subprotocols,
            server: endpoint.authority)
        let opening = ClientOpening(
            endpoint: endpoint,
            tls: endpoint.usesTLS ? try TLSContext(trust: options.trust, setting: options.trustSetting) : nil,
            handshake: handshake, request: try handshake.request(for: endpoint, headers: options.headers))
        let connection = WebSocketConnection(
            role: .client(opening), state: .connecting, peer: endpoint.authority, loop: loop,
            options: options.connection, delegate: delegate)
        let interface = options.networkInterface
        loop.execute {
            guard connection.isConnecting else { return }
            connection.begin()
            Resolver.resolve(endpoint.host, port: endpoint.port, on: loop) { answer in
                connection.connect(answer, interface: interface)
            }
        }
        return connection
    }
}

extension WebSocketConnection {
    /// Connects to one of the addresses that the name resolved to.
    fileprivate func connect(_ answer: Result<[SocketAddress], TransportError>, interface: String?) {
        guard isConnecting else { return }
        switch answer {
        case .failure(let error):
            fail(error)
        case .success(let addresses):
            // The connector keeps the connection alive until it is done or cancelled.
            let connector = TCPConnector(addresses, interface: interface, loop: loop) { [self] result in
                self.connector = nil
                switch result {
                case .success(let socket): start(socket)
                case .failure(let error): fail(error)
                }
            }
            self.connector = connector
            connector.start()
        }
    }
}
