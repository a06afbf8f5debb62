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

    package init(session: SessionID, clientID: UInt64, userID: String?, changeset: Changeset) {
        self.session = session
        self.clientID = clientID
        self.userID = userID
        self.changeset = changeset
    }
}
