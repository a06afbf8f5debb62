package import SluiceWire

/// What happens to a database from outside.
package enum DatabaseEvent: Sendable {
    /// An authenticated client opens a session.
    case open(SessionID, ClientMessage.Open, User)
    /// A frame's messages for one session, in order.
    case messages(SessionID, [ClientMessage])
    /// The session, or its connection, is gone.
    case closed(SessionID)
    /// What the engine had done beside its queue is done.
    case prepared(QueryPreparation)
}

/// What a database wants done.
package enum DatabaseAction: Sendable {
    /// Sends one encoded frame to a connection.
    case send([UInt8], to: UInt64)
    /// Sends the same encoded frame to many connections.
    case broadcast([UInt8], to: [UInt64])
    /// Forgets the session: nothing for it will come any more.
    case end(SessionID)
}
