package import SluiceModel
package import SluiceViews
package import SluiceWire

/// The result of a group of uploads, once it is durable.
package struct CommittedGroup: Sendable {
    /// What changed, from before the group to after it.
    package var delta: CommitDelta
    /// Who made the group's versions; positions here are the author indexes of the delta.
    package var authors: [CommitAuthor]
    package var acceptedAt: Timestamp
    /// By session, the highest sequence accepted.
    package var acknowledged: [SessionID: UInt64]
    package var rejections: [Rejection]
    /// Operations that the merge rules discarded.
    package var supersededCount: Int

    package struct Rejection: Sendable {
        package var session: SessionID
        package var rejection: ServerMessage.Rejection
    }
}
