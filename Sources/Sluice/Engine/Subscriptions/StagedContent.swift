internal import SluiceModel

/// What is kept in mind of a membership until the server completes it.
struct StagedContent {
    /// The targets of links in a bootstrap. The server sends each of them before the bootstrap is complete, unless it
    /// does not exist.
    private var linkTargets: Set<ObjectRef> = []
    /// Objects to which its members link and whose writes from here were acknowledged while it was not complete. When it
    /// is, it has them or the server does not, since what a client has listed is not sent again.
    private var writtenTargets: Set<ObjectRef> = []
    /// Why members leave, while their departure is only staged.
    private var departureReasons: [ObjectRef: RemovalReason] = [:]

    /// Notes a target of a link in a page. Targets may come in later pages than what links to them.
    mutating func noteTarget(_ target: ObjectRef) { linkTargets.insert(target) }

    /// Has the server say whether it has an object to which members link, once it has completed the subscription.
    mutating func noteWritten(_ target: ObjectRef) { writtenTargets.insert(target) }

    /// Notes why a member leaves the staged membership.
    mutating func noteDeparture(of object: ObjectRef, because reason: RemovalReason) {
        departureReasons[object] = reason
    }

    /// Why a member that is not in the membership that was staged has left.
    func reasonOfDeparture(of object: ObjectRef) -> RemovalReason { departureReasons[object] ?? .unknown }

    /// The objects to which members link, and which are here, on the server too, or nowhere, now that the subscription is
    /// complete. They are forgotten with the rest.
    mutating func takeTargets() -> Set<ObjectRef> {
        defer { self = StagedContent() }
        return linkTargets.union(writtenTargets)
    }

    /// Forgets what the server has sent, since the staging goes on no more.
    mutating func abandon() {
        linkTargets = []
        departureReasons = [:]
    }
}
