/// Which side of a connection this is, and what that side needs to open it.
enum ConnectionRole {
    case server(any ConnectionAcceptor)
    case client(ClientOpening)

    var side: FrameDecoder.Side {
        switch self {
        case .server: .server
        case .client: .client
        }
    }

    /// The rules of TLS; nil for a connection without it.
    var tls: TLSContext? {
        switch self {
        case .server(let acceptor): acceptor.tls
        case .client(let opening): opening.tls
        }
    }

    /// The host that the server's certificate must be valid for; nil on a server.
    var host: String? {
        switch self {
        case .server: nil
        case .client(let opening): opening.endpoint.host
        }
    }

    /// The handshake that opens the connection.
    ///
    /// - Parameter subprotocols: those spoken here, the best first.
    func handshake(_ subprotocols: [String]) -> ConnectionMachine.Handshake {
        switch self {
        case .server: .server(ServerHandshake(subprotocols: subprotocols))
        case .client(let opening): .client(opening.handshake)
        }
    }
}

/// Answers the openings of a server's connections. Called on event loops.
protocol ConnectionAcceptor: Sendable {
    var tls: TLSContext? { get }

    /// Decides about a request to open a connection.
    func decide(_ request: HTTPRequest, for connection: WebSocketConnection) -> UpgradeDecision

    /// Answers a plain `GET` or `HEAD`; nil means 404.
    func page(for request: HTTPRequest) -> HTTPResponse?

    /// The peer of a connection is known. From any thread.
    func admit(_ connection: WebSocketConnection)

    /// Forgets a connection that has ended.
    ///
    /// - Parameter error: why it never opened; nil if it did.
    func remove(_ connection: WebSocketConnection, refusedBecause error: TransportError?)
}

/// What to do with a client that asks for a connection.
package enum UpgradeDecision: Sendable {
    /// Open it; the delegate is kept until it has been told that the connection is over.
    case accept(any MessageConnectionDelegate)
    /// Refuse it with an HTTP status and a text in plain words.
    case reject(status: Int, text: String)
}

/// What a client needs until its connection is open.
struct ClientOpening {
    let endpoint: Endpoint
    let tls: TLSContext?
    let handshake: ClientHandshake
    let request: [UInt8]
}
