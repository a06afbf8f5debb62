package import SluiceModel
package import SluiceViews
package import SluiceWire

/// The result of a group of uploads, once it is durable.
package struct CommittedGroup: Sendable {
    /// The difference between the states before and after the group.
    package var delta: CommitDelta
    /// The author of each version of the group; the delta names authors by their positions here.
    package var authors: [CommitAuthor]
    package var acceptedAt: Timestamp
    /// The highest acknowledged sequence of each session.
    package var acknowledged: [SessionID: UInt64]
    package var rejections: [Rejection]
    /// The number of operations that had no effect by the rules of merging.
    package var supersededCount: Int

    package struct Rejection: Sendable {
        package var session: SessionID
        package var rejection: ServerMessage.Rejection
    }
}
