package import SluiceModel

/// What a commit message says besides its blocks.
package struct CommitHeader: Hashable, Sendable {
    package var session: UInt64
    /// The server version that the client stands at once it has applied the commit.
    package var version: UInt64
    /// When that version was committed.
    package var acceptedAt: Timestamp
    /// Every upload up to this sequence is part of the version or rejected; nil when that has not changed.
    package var acknowledged: UInt64?
    /// Whether more parts of the same version follow. The client applies all parts in one transaction.
    package var isContinued: Bool

    package init(
        session: UInt64, version: UInt64, acceptedAt: Timestamp, acknowledged: UInt64? = nil, isContinued: Bool = false
    ) {
        self.session = session
        self.version = version
        self.acceptedAt = acceptedAt
        self.acknowledged = acknowledged
        self.isContinued = isContinued
    }
}

/// Who made one of the versions that a block reports.
package struct CommitAuthor: Hashable, Sendable {
    package var version: UInt64
    /// The user who wrote; nil for the anonymous one and for the server itself.
    package var userID: String?
    /// The client that uploaded; 0 for the server itself.
    package var clientID: UInt64
    package var kinds: Set<OperationKind>
    /// When the server committed it.
    package var acceptedAt: Timestamp
    /// The server process or thread that applied it, where it says so.
    package var workerID: String?

    package init(
        version: UInt64, userID: String?, clientID: UInt64, kinds: Set<OperationKind>, acceptedAt: Timestamp,
        workerID: String? = nil
    ) {
        self.version = version
        self.userID = userID
        self.clientID = clientID
        self.kinds = kinds
        self.acceptedAt = acceptedAt
        self.workerID = workerID
    }
}
