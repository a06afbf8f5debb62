package import SluiceModel
package import SluiceWire

/// One uploaded transaction that the database has not committed yet.
package struct Upload: Sendable {
    package var session: SessionID
    package var clientID: UInt64
    package var userID: String?
    package var changeset: Changeset
    /// Why it is rejected whatever its operations are; nil if nothing is known against it.
    package var problem: ServerMessage.Rejection.Reason?
    /// The request of which the operations were made, for the state as it was then; nil for what a store has made.
    package var request: ClientMessage.Write?

    /// The author of what the server's own process writes. No client has this id; what it writes has no sequence, since
    /// it is written once and not sent.
    package static let serverClientID: UInt64 = 0

    package init(session: SessionID, clientID: UInt64, userID: String?, changeset: Changeset) {
        self.session = session
        self.clientID = clientID
        self.userID = userID
        self.changeset = changeset
    }
}
