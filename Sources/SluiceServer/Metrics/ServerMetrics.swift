public import SluiceModel

/// What a server reports about its work, for a program's monitoring. Every requirement has an implementation that does
/// nothing, so that more may be added. `MetricsText` counts all of it.
///
/// The calls come from any thread, and possibly from several at once; they must not block or use the server.
public protocol ServerMetrics: Sendable {
    /// A client has connected.
    func clientConnected()
    /// The connection of a client has ended.
    func clientDisconnected()
    /// A login was refused.
    func loginRefused()
    /// A message of a client has arrived.
    ///
    /// - Parameter byteCount: its length, without WebSocket's own bytes.
    func receivedFromClient(byteCount: Int)
    /// A message to a client was handed to its connection.
    ///
    /// - Parameter byteCount: its length, before WebSocket's own bytes.
    func sentToClient(byteCount: Int)
    /// A database has handled what waited for it: one turn, in which all uploads share a transaction.
    ///
    /// - Parameters:
    ///   - eventCount: how many messages and other events it handled.
    ///   - database: the database's name.
    ///   - duration: how long it took.
    func databaseTurn(eventCount: Int, of database: String, took duration: Duration)
}

extension ServerMetrics {
    public func clientConnected() {}
    public func clientDisconnected() {}
    public func loginRefused() {}
    public func receivedFromClient(byteCount: Int) {}
    public func sentToClient(byteCount: Int) {}
    public func databaseTurn(eventCount: Int, of database: String, took duration: Duration) {}
}

extension MetricsText: ServerMetrics {
    public func clientConnected() { shift("sluice_server_connections", "Open connections of clients.", by: 1) }

    public func clientDisconnected() { shift("sluice_server_connections", "Open connections of clients.", by: -1) }

    public func loginRefused() { count("sluice_server_refused_logins_total", "Logins that were refused.") }

    public func receivedFromClient(byteCount: Int) {
        count("sluice_server_received_bytes_total", "Bytes of messages received.", byteCount)
    }

    public func sentToClient(byteCount: Int) {
        count("sluice_server_sent_bytes_total", "Bytes of messages sent.", byteCount)
    }

    public func databaseTurn(eventCount: Int, of database: String, took duration: Duration) {
        count(
            "sluice_server_events_total", "Messages and other events that databases handled.", eventCount,
            label: ("database", database))
        time("sluice_server_turn_seconds", "Turns of databases.", duration, label: ("database", database))
    }
}
