internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

extension ClientEngine {
    /// Makes a complete subscription incomplete. Its members stay right at the store's present version.
    func demote(_ subscription: Subscription, to state: SubscriptionRecord.State) throws {
        try transaction(.local) { transaction in
            if subscription.isComplete { subscription.record.version = storage.syncState?.version ?? 0 }
            subscription.record.state = state
            try storage.updateSubscription(subscription.record)
            transaction.noteRebuild(subscription.record.id)
        }
    }

    /// Lists a subscription's members to the server, which then sends the differences. They are staged on a copy of the
    /// membership.
    func listMembers(of wireID: UInt64) throws {
        // The subscription may have ended while the request was in transit.
        guard let subscription = session.subscribed[wireID] else { return }
        let id = subscription.record.id
        try demote(subscription, to: .bootstrapping)
        try transaction(.local) { _ in try storage.beginStagingCopy(id) }
        subscription.endStaging()
        subscription.isCompared = true
        subscription.progress = 0
        try sendMembers(of: subscription, wireID)
        notifyWaiters(of: subscription)
        try retireOutboxIfCaughtUp()
    }

    /// The state of a subscription, from which the server may resume it.
    func resume(_ subscription: Subscription, at version: UInt64) -> ClientMessage.Resume {
        let counts = MemberRole.allCases.map { storage.memberCount(of: subscription.record.id, role: $0) }
        let count = counts.reduce(0, +)
        var resume = ClientMessage.Resume(
            version: version, queryHash: subscription.query.hash, memberCount: UInt64(count),
            isWhole: !subscription.record.hasHoles)
        // For a query without a limit, the server makes no digest when a subscription resumes.
        if subscription.query.isPartial || subscription.query.object != nil, count <= session.digestObjectCountLeft {
            session.digestObjectCountLeft -= count
            recording("a digest could not be made") { resume.digest = try digest(of: subscription) }
        }
        return resume
    }

    private func sendMembers(of subscription: Subscription, _ wireID: UInt64) throws {
        let countMax = listedMemberCountMax
        var content = ObjectBlock()
        var count = 0
        func sendPart(isContinued: Bool) {
            send([
                .members(
                    .init(
                        session: SyncSession.number, subscription: wireID, isContinued: isContinued,
                        content: content))
            ])
            content = ObjectBlock()
            count = 0
        }
        for role in MemberRole.allCases {
            try storage.forEachMember(of: subscription.record.id, role: role) { object in
                guard let object = session.map?.toServer(object) else { return true }
                if count == countMax { sendPart(isContinued: true) }
                // The subscription's version is sent, since a row may have a later version without all properties of
                // this subscription.
                content.append(object, version: subscription.record.version, role: role == .root ? .root : .linked)
                count += 1
                return true
            }
        }
        sendPart(isContinued: false)
    }
}
