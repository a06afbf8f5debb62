internal import SluiceTransport
internal import SluiceWire

/// Passes what sessions send to the workers of their databases: the entrance of the room in which databases run.
///
/// Behind it a ``DatabaseWorker`` gathers the events in its ``Mailbox`` and hands them to the engine in batches, on the
/// database's queue. The events of a session keep their order, users take turns, and a connection whose mailbox is full is
/// read no further. ``FanOut`` sends what the engine returns, in order, before the next batch.
final class SessionRouter: Sendable {
    private let databases: DatabaseDirectory

    init(_ databases: DatabaseDirectory) { self.databases = databases }

    /// Opens a session of a user in a database.
    ///
    /// - Parameter byteCount: the approximate memory that the request takes.
    func open(
        _ session: UInt64, of peer: PeerConnection, in database: String, _ request: ClientMessage.Open, _ user: User,
        byteCount: Int
    ) {
        let holder = peer.holder(user)
        let event = DatabaseEvent.open(peer.id(of: session), request, user, of: holder)
        // A worker retires while nobody uses it; the next one takes the session.
        while !databases.worker(database).post(event, byteCount: byteCount, of: holder, from: peer.connection) {}
    }

    /// Whether a database is open, as far as is known without waiting for it.
    func isOpen(_ database: String) -> Bool {
        if case .open? = databases.known(database)?.health.state { true } else { false }
    }

    /// Passes on an event of an open session. Where its database has gone meanwhile, the session has ended.
    func post(
        _ event: DatabaseEvent, to database: String, byteCount: Int = 0, of holder: Holder,
        from connection: (any MessageConnection)? = nil
    ) {
        databases.known(database)?.post(event, byteCount: byteCount, of: holder, from: connection)
    }
}
