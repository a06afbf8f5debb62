internal import SluiceTransport
internal import Synchronization

/// The connections of this process that stores of one server and user share.
final class ConnectionPool: Sendable {
    static let shared = ConnectionPool()

    /// What stores must have in common to share a connection.
    struct Key: Hashable {
        let usesTLS: Bool
        let authority: String
        /// Everything that the configuration says, the database and what each session settles for itself left out.
        let configuration: SyncConfiguration

        init(_ endpoint: Endpoint, _ configuration: SyncConfiguration, _ credentials: Credentials) {
            usesTLS = endpoint.usesTLS
            authority = endpoint.authority
            var common = SyncConfiguration(urls: [], credentials: credentials)
            common.trust = configuration.trust
            common.headers = configuration.headers
            common.networkInterface = configuration.networkInterface
            common.loopback = configuration.loopback
            common.connectTimeout = configuration.connectTimeout
            common.heartbeat = configuration.heartbeat
            self.configuration = common
        }
    }

    private let connections = Mutex<[Key: SharedConnection]>([:])

    /// Joins the connection of a key, or begins it.
    ///
    /// - Parameters:
    ///   - key: nil for a connection of one's own.
    ///   - uptime: what measures how long the server took to answer.
    ///   - notify: called with what happens to the connection, and what comes for the store, in order.
    ///   - connect: begins a connection with a delegate.
    /// - Throws: what `connect` throws.
    func join(
        _ key: Key?, agent: String, uptime: @escaping @Sendable () -> Duration,
        notify: @escaping @Sendable (ClientEvent) -> Void,
        connect: (any MessageConnectionDelegate) throws -> any MessageConnection
    ) throws -> ConnectionMember {
        if let known = connections.withLock({ connections in key.flatMap { connections[$0] } })?.join(notify) {
            return known
        }
        let made = SharedConnection(agent: agent, uptime: uptime) { [weak self] connection in
            guard let key else { return }
            self?.connections.withLock { if $0[key] === connection { $0[key] = nil } }
        }
        guard let member = made.join(notify) else { preconditionFailure("a new connection takes its first member") }
        // Another store may have begun one at the same time, which then has members of its own only.
        if let key { connections.withLock { $0[key] = made } }
        try made.begin(connect)
        return member
    }
}
