/// Limits and times of WebSocket connections.
package struct WebSocketOptions: Hashable, Sendable {
    /// The longest message accepted, in bytes. A longer one closes the connection with code 1009.
    package var messageByteCountMax = 16 * 1_048_576
    /// How long a peer may send nothing before it is pinged.
    package var pingInterval = Duration.seconds(60)
    /// How long a peer may send nothing after a ping before the connection ends.
    package var pongTimeout = Duration.seconds(120)
    /// How long opening may take: name lookup, TCP, TLS and the upgrade together.
    package var openTimeout: Duration
    /// How long the answer to a request may take to begin, or to show signs of work, and for how long a peer may take
    /// nothing of it.
    package var answerTimeout = Duration.seconds(30)
    /// How long closing may take without any progress.
    package var closeTimeout = Duration.seconds(10)
    /// The delegate is told when the send queue falls to this many bytes.
    package var lowWaterByteCount = 65_536
    /// The supported subprotocols, in order of preference. If there are any, both sides must agree on one.
    package var subprotocols = ["sluice.1"]

    /// Those subprotocols whose messages are text; the messages of all others are binary.
    package static let textSubprotocols: Set<String> = ["sluice.json.1"]

    /// - Parameter openTimeout: by default 120 s.
    package init(openTimeout: Duration = .seconds(120)) { self.openTimeout = openTimeout }
}
