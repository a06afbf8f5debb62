package import SluiceModel

/// Who made one of the versions that a block reports.
package struct CommitAuthor: Hashable, Sendable {
    package var version: UInt64
    /// The user who wrote; nil for the anonymous one, and for one whom the reader may not know.
    package var userID: String?
    /// The client that uploaded; 0 for the server itself, and for one of a user whom the reader may not know.
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
