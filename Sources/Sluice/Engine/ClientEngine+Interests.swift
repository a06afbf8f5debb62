internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension ClientEngine {
    /// Adds to the interest in a query; the first asks the server for it.
    func addInterest(_ query: Query) throws -> Interest {
        try checkOutsideTransaction()
        if let interest = interests[query: query.hash] {
            interest.holderCount += 1
            return interest
        }
        var record = storage.subscription(toQuery: query.hash)
        let wasKnown = record != nil
        try transaction(.local) { _ in
            if var dormant = record {
                dormant.isDormant = false
                // What it named is judged anew by the server before it counts as complete again.
                dormant.state = .pending
                try storage.updateSubscription(dormant)
                record = dormant
            } else {
                record = try storage.addSubscription(
                    SubscriptionRecord(
                        id: 0, canonicalText: query.canonicalText, hash: query.hash, className: query.className,
                        createdAt: now(), updatedAt: now()))
            }
        }
        guard let record else { throw StoreError(.storage, "the subscription could not be stored") }
        let interest = Interest(query: query, schema: schema, record: record)
        interest.holderCount = 1
        interest.isRemembered = wasKnown || query.object == nil
        if case .failed(let error) = session.phase { interest.error = error }
        interests.add(interest)
        if session.isActive { send([try subscribeMessage(interest)]) }
        return interest
    }

    /// Takes one holder from an interest; with the last, unless it is kept, syncing ends.
    ///
    /// - Parameters:
    ///   - keeping: whether syncing goes on without holders.
    ///   - purging: whether the query's objects leave this store when syncing ends.
    func releaseInterest(_ interest: Interest, keeping: Bool, purging: Bool) throws {
        interest.holderCount -= 1
        if keeping { interest.isKept = true } else if interest.holderCount == 0 { interest.isKept = false }
        guard interest.holderCount == 0, !interest.isKept else { return }
        try endInterest(interest, purging: purging)
    }

    /// Ends syncing of a query that was kept without holders; does nothing while somebody observes it.
    ///
    /// Within a write, it happens after it.
    package func stopSyncing(_ query: Query, purging: Bool) throws {
        try outsideTransaction { engine in
            guard let interest = engine.interests[query: query.hash] else { return }
            interest.isKept = false
            if interest.holderCount == 0 { try engine.endInterest(interest, purging: purging) }
        }
    }

    private func endInterest(_ interest: Interest, purging: Bool) throws {
        interests.remove(interest)
        if let wireID = interest.wireID {
            session.subscribed[wireID] = nil
            if session.isActive { send([.unsubscribe(session: SyncSession.number, subscription: wireID)]) }
        }
        try transaction(.local) { transaction in
            let id = interest.record.id
            if purging {
                for object in try storage.exclusiveMembers(of: id) where try !storage.hasPending(object) {
                    try evict(object, reason: .purged, transaction)
                }
                try storage.removeSubscription(id)
                return
            }
            guard interest.isRemembered else { return try storage.removeSubscription(id) }
            if interest.record.state == .bootstrapping { try storage.discardStaging(id) }
            interest.record.isDormant = true
            // The membership stays right as of the version that the store stands at now.
            if interest.record.state == .complete {
                interest.record.version = storage.syncState?.version ?? interest.record.version
            } else {
                interest.record.state = .pending
            }
            interest.record.updatedAt = now()
            try storage.updateSubscription(interest.record)
            try forgetOldestDormant()
        }
        try retireOutboxIfCaughtUp()
    }

    /// Drops the records of those that have been dormant longest, beyond the number that is kept. Objects stay.
    private func forgetOldestDormant() throws {
        // Whatever is not observed is dormant.
        let excess = storage.subscriptionCount - interests.count - options.dormantSubscriptionCountMax
        guard excess > 0 else { return }
        let dormant = storage.dormantSubscriptions
        for record in dormant.sorted(by: { ($0.updatedAt, $0.id) < ($1.updatedAt, $1.id) }).prefix(excess) {
            try storage.removeSubscription(record.id)
        }
    }

    /// Nobody waits any more for what became of a complete subscription while this client was away.
    func retireOutboxIfCaughtUp() throws {
        if interests.completeCount == 0 { session.awaitsCatchUp = false }
        try retireOutbox()
    }

    /// The message that starts or resumes an interest's subscription; a bootstrap begins to be staged.
    func subscribeMessage(_ interest: Interest) throws -> ClientMessage {
        let wireID = session.nextSubscription
        session.nextSubscription += 1
        if let former = interest.wireID { session.subscribed[former] = nil }
        interest.wireID = wireID
        session.subscribed[wireID] = interest
        interest.error = nil
        // The store may have moved on while the subscription was complete; then all of it stands where the store does.
        let version = interest.isComplete ? storage.syncState?.version ?? 0 : interest.record.version
        let canResume = version > 0 && session.features.contains(.resume)
        if canResume, interest.isComplete, interest.record.hasHoles { try demote(interest, to: .pending) }
        if !canResume, !storage.isStaging(interest.record.id) {
            try transaction(.local) { transaction in
                interest.record.state = .pending
                interest.record.version = 0
                try storage.updateSubscription(interest.record)
                transaction.noteRebuild(interest.record.id)
                try storage.beginStaging(interest.record.id)
            }
        }
        return .subscribe(
            .init(
                session: SyncSession.number, subscription: wireID, query: interest.query.canonicalText,
                resume: canResume ? resume(interest, at: version) : nil))
    }

    /// Removes every object that no interest holds and that is uploaded.
    ///
    /// - Returns: how many objects went.
    @discardableResult
    package func purgeUnsubscribed() throws -> Int {
        try transaction(.local) { transaction in
            var count = 0
            if storage.subscriptionCount == 0, storage.outboxCount == 0 {
                for classIndex in schema.classes.indices { count += try storage.count(ofClass: classIndex) }
                try storage.evictAll()
                return count
            }
            for classIndex in schema.classes.indices {
                for object in try storage.unheldObjects(ofClass: classIndex) {
                    try evict(object, reason: .purged, transaction)
                    count += 1
                }
            }
            return count
        }
    }
}
