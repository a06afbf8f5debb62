internal import SluiceModel
package import SluiceTransport
package import SluiceWire

/// An event for a client's session.
package enum ClientEvent: Sendable {
    /// Syncing begins: the engine connects.
    case start
    /// Syncing ends: the engine disconnects and does not reconnect.
    case stop
    /// Syncing rests: the engine disconnects, and those who wait go on waiting.
    case pause
    /// Syncing that rests begins again.
    case resume
    /// Syncing that has ended because of its credentials, or of another error, begins again.
    case retryAfterFailure
    /// The wait before the next attempt is cut short, and the waits begin with the shortest again.
    case reconnectNow
    /// The machine has other addresses or routes than before, or was suspended: what seemed out of reach may be in
    /// reach, and the other way round.
    case surroundingsChanged
    /// What to present to the server from the next session on.
    case credentials([WireCredentials])
    /// What to present in the session that is open, and from then on.
    case renew([WireCredentials])
    /// The requested connection is open.
    ///
    /// - Parameter place: what the session has of it; nil for a connection of its own, on which it says hello.
    case opened(at: ConnectionPlace? = nil)
    /// The connection has ended or could not be opened.
    ///
    /// - Parameters:
    ///   - outlook: whether another attempt may succeed.
    ///   - wait: how long the other side asks to wait before it.
    case closed(reason: String, outlook: TransportError.Outlook = .passing, wait: Duration = .zero)
    /// A whole frame arrived.
    case received([UInt8])
    /// The delay of ``ClientAction/reconnect(after:)`` has passed, or is cut short.
    case reconnect
    /// The delay of ``ClientAction/storePostponed(after:)`` has passed.
    case storePostponed
}

/// What a client's session wants done.
package enum ClientAction: Sendable, Equatable {
    case connect(ServerChoice)
    case disconnect
    /// Finds out soon whether the server is still there.
    case probe
    case send([UInt8])
    /// Sends ``ClientEvent/reconnect`` after this delay.
    case reconnect(after: Duration)
    /// Sends ``ClientEvent/renew(_:)`` after this delay, if new credentials can be had.
    case renew(after: Duration)
    /// Sends ``ClientEvent/storePostponed`` after this delay.
    case storePostponed(after: Duration)
}

/// Which server a client's session wants to connect to.
package enum ServerChoice: Sendable, Equatable {
    /// One of those that the configuration names, by position.
    case configured(Int)
    /// The one that a server has handed the session over to, by its URL.
    case handedOver(String)
}

/// What a session has of a connection that it may share with others.
package struct ConnectionPlace: Sendable {
    /// The session's number on the connection.
    package var session: UInt64
    /// What the server has answered to the hello, with its time of now; nil as long as it has not.
    package var greeting: ServerMessage.HelloReply?
    /// How long the answer to the hello took, or takes so far.
    package var wait: Duration

    /// When the server was asked for its time, if the answer comes now.
    func asked(before now: Timestamp) -> Timestamp { now.advanced(by: .zero - wait) }
}
