package import SluiceWire

/// An event for a database.
package enum DatabaseEvent: Sendable {
    /// An authenticated client opens a session.
    case open(SessionID, ClientMessage.Open, User)
    /// A frame's messages for one session, in order.
    case messages(SessionID, [ClientMessage])
    /// The session or its connection has ended.
    case closed(SessionID)
    /// The engine's work beside its queue has ended.
    case prepared(QueryPreparation)
}

/// What a database wants done.
package enum DatabaseAction: Sendable {
    /// Sends one encoded frame to a connection.
    case send([UInt8], to: UInt64)
    /// Sends the same encoded frame to many connections.
    case broadcast([UInt8], to: [UInt64])
    /// Removes the session: nothing more will be sent to it.
    case end(SessionID)
}
