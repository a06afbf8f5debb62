internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension ClientEngine {
    /// Adds a holder to the subscription to a query. The first holder creates the subscription and requests it from the
    /// server.
    func addSubscription(_ query: Query) throws -> Subscription {
        try checkOutsideTransaction()
        let query = current(query)
        if let subscription = subscriptions[query: query.hash] {
            subscription.holderCount += 1
            return subscription
        }
        var record = storage.subscription(toQuery: query.hash)
        let wasKnown = record != nil
        try transaction(.local) { _ in
            if var dormant = record {
                dormant.isDormant = false
                // The server must confirm the members before the subscription counts as complete again.
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
        let subscription = Subscription(
            query: query, schema: schema, record: record, isAlone: options.databaseName == nil)
        subscription.holderCount = 1
        subscription.isRemembered = wasKnown || !query.isOfOneObject(in: schema)
        if case .failed(let error) = session.phase { subscription.error = error }
        subscriptions.add(subscription)
        if session.isActive { send([try subscribeMessage(subscription)]) }
        return subscription
    }

    /// Removes one holder of a subscription. A subscription without holders ends, unless it is kept.
    ///
    /// - Parameters:
    ///   - keeping: whether the query stays in sync without holders.
    ///   - purging: whether the query's objects are removed from this store when syncing ends.
    func releaseSubscription(_ subscription: Subscription, keeping: Bool, purging: Bool) throws {
        subscription.holderCount -= 1
        if keeping { subscription.isKept = true } else if subscription.holderCount == 0 { subscription.isKept = false }
        guard subscription.holderCount == 0, !subscription.isKept else { return }
        try endSubscription(subscription, purging: purging)
    }

    /// Ends the syncing of a query that is kept without holders. It does nothing while somebody observes the query.
    ///
    /// Within a write, it happens after the write has ended.
    package func stopSyncing(_ query: Query, purging: Bool) throws {
        try outsideTransaction { engine in
            guard let subscription = engine.subscriptions[query: engine.current(query).hash] else { return }
            subscription.isKept = false
            if subscription.holderCount == 0 { try engine.endSubscription(subscription, purging: purging) }
        }
    }

    private func endSubscription(_ subscription: Subscription, purging: Bool) throws {
        subscriptions.remove(subscription)
        if let wireID = subscription.wireID {
            session.subscribed[wireID] = nil
            if session.isActive { send([.unsubscribe(session: SyncSession.number, subscription: wireID)]) }
        }
        try transaction(.local) { transaction in
            let id = subscription.record.id
            if purging {
                for object in try storage.exclusiveMembers(of: id) where try !storage.hasPending(object) {
                    try evict(object, reason: .purged, transaction)
                }
                try storage.removeSubscription(id)
                return
            }
            guard subscription.isRemembered else { return try storage.removeSubscription(id) }
            if subscription.record.state == .bootstrapping { try storage.discardStaging(id) }
            subscription.record.isDormant = true
            // The members stay right at the store's present version.
            if subscription.record.state == .complete {
                subscription.record.version = storage.syncState?.version ?? subscription.record.version
            } else {
                subscription.record.state = .pending
            }
            subscription.record.updatedAt = now()
            try storage.updateSubscription(subscription.record)
            try forgetOldestDormant()
        }
        try retireOutboxIfCaughtUp()
    }

    /// Removes the records that have been dormant longest, beyond the number that is kept. Objects stay.
    private func forgetOldestDormant() throws {
        // A subscription that is not active is dormant.
        let excess = storage.subscriptionCount - subscriptions.count - options.dormantSubscriptionCountMax
        guard excess > 0 else { return }
        let dormant = storage.dormantSubscriptions
        for record in dormant.sorted(by: { ($0.updatedAt, $0.id) < ($1.updatedAt, $1.id) }).prefix(excess) {
            try storage.removeSubscription(record.id)
        }
    }

    /// Retires acknowledged changesets. Without complete subscriptions there is no catch-up to wait for.
    func retireOutboxIfCaughtUp() throws {
        if subscriptions.completeCount == 0 { session.awaitsCatchUp = false }
        try retireOutbox()
    }

    /// Makes the message that starts or resumes a subscription. For a start it also begins the staging of the
    /// bootstrap.
    func subscribeMessage(_ subscription: Subscription) throws -> ClientMessage {
        let wireID = session.nextSubscription
        session.nextSubscription += 1
        if let former = subscription.wireID { session.subscribed[former] = nil }
        subscription.wireID = wireID
        subscription.arrivedCount = 0
        session.subscribed[wireID] = subscription
        subscription.error = nil
        // A complete subscription is at the store's version.
        let version = subscription.isComplete ? storage.syncState?.version ?? 0 : subscription.record.version
        let canResume = version > 0 && session.features.contains(.resume)
        if canResume, subscription.isComplete, subscription.record.hasHoles { try demote(subscription, to: .pending) }
        if !canResume, !storage.isStaging(subscription.record.id) {
            try transaction(.local) { transaction in
                subscription.record.state = .pending
                subscription.record.version = 0
                try storage.updateSubscription(subscription.record)
                transaction.noteRebuild(subscription.record.id)
                try storage.beginStaging(subscription.record.id)
            }
        }
        return .subscribe(
            .init(
                session: SyncSession.number, subscription: wireID, query: subscription.query.canonicalText,
                resume: canResume ? resume(subscription, at: version) : nil))
    }

    /// Removes every object that no subscription holds and that has no pending writes.
    ///
    /// - Returns: how many objects were removed.
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

extension Query {
    /// Whether the query has at most one result, which it names by object id or by primary key.
    fileprivate func isOfOneObject(in schema: Schema) -> Bool {
        guard object == nil else { return true }
        // A condition on the primary key comes before all others.
        guard let first = rootConditions(schema: schema).first, case .equal = first.test else { return false }
        return first.property == schema[classIndex].primaryKeyIndex
    }
}
