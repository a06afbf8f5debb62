internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// A subscription whose members the client is listing.
final class Comparison {
    /// The number of members that the client announced.
    let announcedCount: Int
    var known = KnownMembers()

    init(announcedCount: Int) { self.announcedCount = announcedCount }
}

extension DatabaseEngine {
    /// Whether to ask a client to list its members, rather than to send everything.
    func canCompare(_ resume: ClientMessage.Resume, session: ServerSession) -> Bool {
        resume.version > 0 && resume.version <= storage.version && resume.memberCount > 0
            && resume.memberCount <= UInt64(limits.comparedMemberCountMax - session.comparedMemberCount)
    }

    /// Handles a part of the client's list. After the last part, the differences are sent in pages.
    func compare(_ members: ClientMessage.Members, session: ServerSession) throws {
        guard let subscription = session.subscriptions[members.subscription] else { return }
        guard let comparison = subscription.comparison else {
            return end(session, .protocolViolation, "members that the server did not ask for", action: .retry)
        }
        subscription.comparison = nil
        if let problem = problem(with: members.content) {
            return end(session, .protocolViolation, problem, action: .retry)
        }
        comparison.known.add(members.content)
        guard comparison.known.count <= comparison.announcedCount else {
            return end(
                session, .protocolViolation, "more members than the \(comparison.announcedCount) announced",
                action: .retry)
        }
        guard !members.isContinued else {
            subscription.comparison = comparison
            return
        }
        try guardingQuery(of: subscription) { work in
            try compare(subscription, with: comparison, within: work)
        }
    }

    private func compare(
        _ subscription: ViewSubscription, with comparison: Comparison, within work: WorkLimit
    ) throws {
        var bootstrap = try makeBootstrap(of: subscription.view.live, within: work)
        bootstrap.known = comparison.known
        bootstrap.announcedCount = comparison.announcedCount
        bootstrap.digest = ViewDigest(subscription.view.live)
        begin(bootstrap, of: subscription)
    }

    private func problem(with members: ObjectBlock) -> String? {
        for group in members.groups {
            guard storage.schema.classes.indices.contains(group.classIndex) else {
                return "there is no class \(group.classIndex); the schema has \(storage.schema.classes.count)"
            }
            guard group.role != .member, group.width == 0 else {
                return "members are listed as roots or linked objects, without properties"
            }
            let declared = storage.schema[group.classIndex]
            guard group.keys.allSatisfy(declared.accepts) else {
                return
                    "\(declared.name) names its objects by \(declared.keyType.rawValue), not by the kind of key given"
            }
        }
        return nil
    }
}
