package import SluiceStorage
package import SluiceWire

/// An event for a database.
package enum DatabaseEvent: Sendable {
    /// An authenticated client opens a session. The holder is to whom its work counts; nil for the user, or the session
    /// where it has none.
    case open(SessionID, ClientMessage.Open, User, of: Holder? = nil)
    /// The user of a session has proved again who it is, perhaps with other claims.
    case renewed(SessionID, User)
    /// A frame's messages for one session, in order.
    case messages(SessionID, [ClientMessage])
    /// The session or its connection has ended.
    case closed(SessionID)
    /// The engine's work beside its queue has ended.
    case prepared(QueryPreparation)
    /// The journal may have further records, appended by other engines.
    case journalGrew
    /// A journal that had not answered was asked again.
    case journalAsked(JournalRetry)
    /// Other servers of the cluster pass on ephemeral messages of their clients, as frames.
    case relayed([[UInt8]])
    /// The journal has further records, appended by other engines; ascending.
    case follow([JournalRecord])
}
