/// A connection that transports whole messages in order, all of them binary or all of them text, both ways.
///
/// Every member may be used on any thread. Calls return at once; their effects reach the delegate later.
package protocol MessageConnection: AnyObject, Sendable {
    /// Unique in this process.
    var id: ConnectionID { get }

    /// The other side's address, for logs.
    var peerDescription: String { get }

    /// The number of bytes given to ``send(_:)`` that the operating system has not accepted yet.
    var queuedBytes: Int { get }

    /// Sends a message after those sent before. Does nothing after ``close(code:reason:)`` or ``abort()``.
    ///
    /// The queue has no limit of its own: the owner watches ``queuedBytes`` and closes, waits, or drops messages.
    func send(_ message: SharedBuffer)

    /// Says that the owner of a server knows who the peer is. The connection is then no longer pending
    /// (``WebSocketServerOptions/awaitsAdmission``), so the limits on time and number of pending connections no longer
    /// apply to it. A second call does nothing.
    func admit()

    /// Sends what is queued, then closes with a closing handshake. No more messages are received.
    ///
    /// - Parameter reason: at most 123 bytes of UTF-8; the rest is cut off.
    func close(code: CloseCode, reason: String)

    /// Closes at once and drops what is queued.
    func abort()

    /// Asks the peer for a sign of life at once, and ends the connection if none comes in time. Does nothing where the
    /// peer cannot be lost without notice.
    ///
    /// - Parameter timeout: how long the peer has for it.
    func probe(timeout: Duration)

    /// Stops receiving until ``resumeReceiving(after:)``, so that the peer feels back pressure. A few messages may
    /// still arrive.
    ///
    /// - Parameter reason: who pauses. Nothing is received while any reason holds.
    func pauseReceiving(for reason: PauseReason)

    /// Resumes receiving, unless another reason holds.
    func resumeReceiving(after reason: PauseReason)
}

/// Why receiving is paused. Several reasons may hold at a time, each of them set and ended by its own owner.
package struct PauseReason: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Who receives has enough to do.
    package static let backlog = PauseReason(rawValue: 1)
    /// It is not known yet who the peer is.
    package static let login = PauseReason(rawValue: 2)
    /// The peer has used up what it may do at a time.
    package static let quota = PauseReason(rawValue: 4)
    /// The peer takes no answers while it asks for more.
    package static let answers = PauseReason(rawValue: 8)
}

extension MessageConnection {
    package func probe(timeout: Duration) {}

    /// Closes normally.
    package func close() { close(code: .normal, reason: "") }

    /// Stops receiving for ``PauseReason/backlog``.
    package func pauseReceiving() { pauseReceiving(for: .backlog) }

    /// Resumes receiving after ``PauseReason/backlog``.
    package func resumeReceiving() { resumeReceiving(after: .backlog) }
}

/// Numbers for connections of other kinds than sockets.
package enum ConnectionNumbers {
    /// A number that no other connection of this process has.
    package static func next() -> ConnectionID { ConnectionID(rawValue: WebSocketConnection.nextID()) }
}

/// The identity of a connection, unique in this process.
package struct ConnectionID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package var description: String { "connection \(rawValue)" }
}

/// Receives the events of a connection. Calls for one connection come one at a time and in order, on its event loop's
/// thread, which they must not block.
package protocol MessageConnectionDelegate: AnyObject, Sendable {
    /// The connection is ready. Messages sent earlier are on their way.
    func connectionDidOpen(_ connection: any MessageConnection)

    /// A whole message was received.
    ///
    /// - Parameter message: valid until this call returns.
    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer)

    /// The queue was above the low-water mark and has fallen to it or below.
    func connectionDidDrain(_ connection: any MessageConnection)

    /// The connection is over, or could not be made. Called exactly once, and nothing is called after it.
    ///
    /// - Parameter error: nil after a closing handshake with code 1000, or one that this side began.
    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?)
}

extension MessageConnectionDelegate {
    package func connectionDidOpen(_ connection: any MessageConnection) {}
    package func connectionDidDrain(_ connection: any MessageConnection) {}
}
