/// How a client has logged in, or has tried to.
public enum ServerLoginMethod: String, Sendable, Hashable, CaseIterable {
    /// Without a proof.
    case anonymous
    /// With the secret that server and clients share.
    case sharedSecret
    /// With a user name and a password.
    case password
    /// With a token that the server gave at an earlier login.
    case session
    /// With a token of an issuer.
    case token
    /// In a way that the program decides about.
    case custom
}

/// A quota that a client has reached, see ``Quotas``.
public enum ServerQuota: String, Sendable, Hashable, CaseIterable {
    /// Of the connections of an address: one was refused.
    case connections
    /// Of the sessions of a user: one was refused.
    case sessions
    /// Of the operations that a user may upload in a second: the user waits.
    case operations
}

/// What a server reports about its work, for a program's monitoring. Every requirement has an implementation that does
/// nothing, so that more may be added. The server counts all of it also by itself: ``SyncServer/metricsText()``.
///
/// The calls come from any thread, and possibly from several at once; they must not block or use the server.
public protocol ServerMetrics: Sendable {
    /// A client has connected.
    func clientConnected()
    /// The connection of a client has ended.
    func clientDisconnected()
    /// A login was decided about.
    ///
    /// - Parameters:
    ///   - method: how the client has tried to log in.
    ///   - isAccepted: whether it is logged in.
    func loginDecided(method: ServerLoginMethod, isAccepted: Bool)
    /// A client has reached a quota.
    func quotaReached(_ quota: ServerQuota)
    /// A connection was closed because its client takes what it is sent too slowly.
    func slowClientClosed()
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
    public func loginDecided(method: ServerLoginMethod, isAccepted: Bool) {}
    public func quotaReached(_ quota: ServerQuota) {}
    public func slowClientClosed() {}
    public func receivedFromClient(byteCount: Int) {}
    public func sentToClient(byteCount: Int) {}
    public func databaseTurn(eventCount: Int, of database: String, took duration: Duration) {}
}
