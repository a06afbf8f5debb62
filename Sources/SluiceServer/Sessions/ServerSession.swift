internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// One client's session on a database: who the client is, and what it may upload.
///
/// It takes uploads in the order of their numbers. A gap after the first ends the session, and an upload that was taken
/// before is not taken again.
final class ServerSession {
    /// Whether the client's uploads are taken.
    ///
    /// | state | event | next |
    /// |---|---|---|
    /// | accepted | the database cannot be written | heldBack |
    /// | accepted, heldBack | the database turns out to be damaged | refused |
    /// | heldBack | the database can be written again | the session ends, and its client opens another |
    enum Uploads: CaseIterable, Sendable {
        case accepted
        /// The database cannot be written: what comes is dropped, and the client was told.
        case heldBack
        /// The database is damaged: what comes is dropped, and the client was told.
        case refused
    }

    let id: SessionID
    /// Who acts. It stays the same user, whose proof may be renewed.
    var user: User
    /// The client's id; nil in a read-only session, and if the database is damaged and could not make a record of the
    /// client.
    let clientID: UInt64?
    /// Whether the client asked for read-only access.
    let isReadOnly: Bool
    /// Whether the client's record is removed when the client closes the session.
    let isShortLived: Bool
    private(set) var uploads = Uploads.accepted
    /// The nonce that was offered at the opening and that the client's first message confirms; nil once the server has
    /// stored it.
    var unconfirmedNonce: ObjectID?
    /// The highest sequence received, for detecting gaps.
    private var receivedSequence: UInt64
    /// The latest timestamp of a received transaction. The timestamps of a session never descend.
    private var lastTimestamp = HybridTimestamp(microseconds: .min)

    init(
        id: SessionID, user: User, isReadOnly: Bool, clientID: UInt64?, isShortLived: Bool,
        unconfirmedNonce: ObjectID?, receivedSequence: UInt64
    ) {
        self.id = id
        self.user = user
        self.isReadOnly = isReadOnly
        self.clientID = clientID
        self.isShortLived = isShortLived
        self.unconfirmedNonce = unconfirmedNonce
        self.receivedSequence = receivedSequence
    }

    /// Goes on to another state of its uploads.
    ///
    /// - Precondition: the table has it.
    func become(_ next: Uploads) {
        precondition(uploads.mayBecome(next), "the uploads of a session cannot be \(next) when they are \(uploads)")
        uploads = next
    }

    /// Whether a transaction of the client was taken in before.
    func hasReceived(_ sequence: UInt64) -> Bool { sequence <= receivedSequence }

    /// Takes a transaction of the client in.
    ///
    /// - Throws: ``SessionEnd`` when an earlier one is missing, or when the session is one that only reads.
    func receive(_ changeset: Changeset, now: Timestamp) throws(SessionEnd) -> Upload {
        guard let clientID else {
            throw SessionEnd(.protocolViolation, "a read-only session cannot upload", action: .stop)
        }
        // A client with a new identity continues the numbers of its old one.
        let received = receivedSequence
        guard received == 0 || changeset.sequence <= received || changeset.sequence - received == 1 else {
            let message = "upload \(changeset.sequence) arrived, and \(received + 1) is missing"
            throw SessionEnd(.protocolViolation, message, action: .retry)
        }
        receivedSequence = max(received, changeset.sequence)
        var changeset = changeset
        // A clock far ahead counts as a little ahead, so that the times that follow are not far ahead too.
        let limit = HybridTimestamp(microseconds: now.microseconds + HybridClock.driftMax)
        // Timestamps of a client must not descend; otherwise every merge would search all writes.
        changeset.timestamp = max(min(changeset.timestamp, limit), lastTimestamp)
        lastTimestamp = changeset.timestamp
        var upload = Upload(session: id, clientID: clientID, userID: user.id, changeset: changeset)
        upload.problem = changeset.problem.map { .init(code: .invalidOperation, message: $0) }
        return upload
    }
}

extension ServerSession.Uploads {
    /// Whether the table leads from here to another state.
    func mayBecome(_ next: Self) -> Bool {
        switch (self, next) {
        case (.accepted, .heldBack), (.accepted, .refused), (.heldBack, .refused): true
        case (.accepted, .accepted), (.heldBack, _), (.refused, _): false
        }
    }
}
