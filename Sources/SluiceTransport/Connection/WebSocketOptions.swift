/// Limits and times of WebSocket connections.
package struct WebSocketOptions: Hashable, Sendable {
    /// Longer messages are refused with code 1009. In bytes.
    package var messageByteCountMax = 16 * 1_048_576
    /// How long a peer may be quiet before it is pinged.
    package var pingInterval = Duration.seconds(60)
    /// How long after a ping a peer may stay quiet before the connection is given up.
    package var pongTimeout = Duration.seconds(120)
    /// How long opening may take: name lookup, TCP, TLS and the upgrade together.
    package var openTimeout: Duration
    /// How long closing may take without any progress.
    package var closeTimeout = Duration.seconds(10)
    /// When the queue falls to this many bytes, the delegate is told.
    package var lowWaterByteCount = 65_536
    /// Protocols spoken over the connection, the best first. If there are any, both sides must agree on one.
    package var subprotocols = ["sluice.1"]

    /// - Parameter openTimeout: by default 120 s.
    package init(openTimeout: Duration = .seconds(120)) { self.openTimeout = openTimeout }
}
