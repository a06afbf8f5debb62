/// Identifies a session on a connection within one server process.
package struct SessionID: Hashable, Sendable {
    package var connection: UInt64
    /// The number that the client gave the session.
    package var session: UInt64

    package init(connection: UInt64, session: UInt64) {
        self.connection = connection
        self.session = session
    }

    /// Stands for the server's own process, which needs no session. No connection has this number.
    package static let server = SessionID(connection: .max, session: .max)

    /// Stands for the server's own process where it acts for a user.
    package static let actingServer = SessionID(connection: .max, session: .max - 1)
}

extension SessionID: Comparable {
    package static func < (left: SessionID, right: SessionID) -> Bool {
        (left.connection, left.session) < (right.connection, right.session)
    }
}
