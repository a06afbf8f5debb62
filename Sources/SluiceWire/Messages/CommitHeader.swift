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
