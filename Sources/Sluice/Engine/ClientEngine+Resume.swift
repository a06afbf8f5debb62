internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

extension ClientEngine {
    /// A complete subscription is so no longer: its membership stays right as of the version that the store stands at.
    func demote(_ interest: Interest, to state: SubscriptionRecord.State) throws {
        try transaction(.local) { transaction in
            if interest.isComplete { interest.record.version = storage.syncState?.version ?? 0 }
            interest.record.state = state
            try storage.updateSubscription(interest.record)
            transaction.noteRebuild(interest.record.id)
        }
    }

    /// Tells the server what a subscription has, so that it sends what differs. The differences are staged on a copy.
    func listMembers(of subscription: UInt64) throws {
        // It may have ended while the question was under way.
        guard let interest = session.subscribed[subscription] else { return }
        let id = interest.record.id
        try demote(interest, to: .bootstrapping)
        try transaction(.local) { _ in try storage.beginStagingCopy(id) }
        interest.endStaging()
        interest.isCompared = true
        interest.progress = 0
        try sendMembers(of: interest, subscription)
        notifyWaiters(of: interest)
        try retireOutboxIfCaughtUp()
    }

    /// What the server is told of a subscription that it may go on with.
    func resume(_ interest: Interest, at version: UInt64) -> ClientMessage.Resume {
        let counts = MemberRole.allCases.map { storage.memberCount(of: interest.record.id, role: $0) }
        let count = counts.reduce(0, +)
        var resume = ClientMessage.Resume(
            version: version, queryHash: interest.query.hash, memberCount: UInt64(count),
            isWhole: !interest.record.hasHoles)
        // Of a query without a limit the server makes no digest.
        if interest.query.isPartial || interest.query.object != nil, count <= session.digestObjectCountLeft {
            session.digestObjectCountLeft -= count
            recording("a digest could not be made") { resume.digest = try digest(of: interest) }
        }
        return resume
    }

    private func sendMembers(of interest: Interest, _ subscription: UInt64) throws {
        let countMax = listedMemberCountMax
        var content = ObjectBlock()
        var count = 0
        func sendPart(isContinued: Bool) {
            send([
                .members(
                    .init(
                        session: SyncSession.number, subscription: subscription, isContinued: isContinued,
                        content: content))
            ])
            content = ObjectBlock()
            count = 0
        }
        for role in MemberRole.allCases {
            try storage.forEachMember(of: interest.record.id, role: role) { object in
                guard let object = session.map?.toServer(object) else { return true }
                if count == countMax { sendPart(isContinued: true) }
                // Rows may carry later versions without all that this subscription includes.
                content.append(object, version: interest.record.version, role: role == .root ? .root : .linked)
                count += 1
                return true
            }
        }
        sendPart(isContinued: false)
    }
}
