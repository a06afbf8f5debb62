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

    /// The certificates and rules of TLS; nil for a connection without TLS.
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
    /// - Parameter subprotocols: the supported ones, in order of preference.
    func handshake(_ subprotocols: [String]) -> ConnectionMachine.Handshake {
        switch self {
        case .server: .server(ServerHandshake(subprotocols: subprotocols))
        case .client(let opening): .client(opening.handshake)
        }
    }
}

/// Decides about a server's connections. Called on event loops, except where noted.
protocol ConnectionAcceptor: Sendable {
    var tls: TLSContext? { get }

    /// Decides about a request to open a connection.
    func decide(_ request: HTTPRequest, for connection: WebSocketConnection) -> UpgradeDecision

    /// Says what to do with a request that is none for an upgrade.
    func route(_ request: HTTPRequest, for connection: WebSocketConnection) -> HTTPRoute

    /// A request was received as a whole, and its answer may take long.
    ///
    /// - Returns: nil if it may be answered; else what to respond, since too many are.
    func beginAnswer(on connection: WebSocketConnection) -> HTTPResponse?

    /// The owner knows who the peer of a connection is. Called on any thread.
    func admit(_ connection: WebSocketConnection)

    /// Forgets a connection that has ended.
    ///
    /// - Parameter error: why the connection never opened; nil if it did open, or if the owner refused it.
    func remove(_ connection: WebSocketConnection, refusedBecause error: TransportError?)
}

/// What to do with a client that asks for a connection.
package enum UpgradeDecision: Sendable {
    /// Open the connection. It retains the delegate until the connection has ended.
    case accept(any MessageConnectionDelegate)
    /// Refuse the connection with an HTTP status and a text for people.
    case reject(status: Int, text: String)
}

/// What a client needs until its connection is open.
struct ClientOpening {
    let endpoint: Endpoint
    let tls: TLSContext?
    let handshake: ClientHandshake
    let request: [UInt8]
}
