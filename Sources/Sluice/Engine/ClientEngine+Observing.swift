internal import SluiceModel
package import SluiceQuery

/// Beginning and ending what observes and holds queries.
extension ClientEngine {
    /// Starts to observe a query. This adds a holder to its subscription, and delivers events until
    /// ``endObservation(_:keeping:purging:)``.
    ///
    /// - Parameters:
    ///   - readability: which results the consumer's type can represent; nil for all.
    ///   - reportsPending: whether an event reports that writes of an object begin or cease to be pending.
    ///   - isPrompt: whether the consumer is called on a thread of the store's own, so that ``whenHandledComplete(_:_:)``
    ///     counts it.
    ///   - isLocal: whether the query is known to find only objects of a class that does not sync.
    ///   - isCached: whether to observe only what is here, and to ask the server nothing.
    ///   - end: called when the store is closed.
    ///   - deliver: called with each event. ``observerIsReady(_:)`` says that the consumer has handled it.
    /// - Returns: the number of the observation.
    package func observe(
        _ query: Query, readability: Readability? = nil, reportsPending: Bool = false, isPrompt: Bool = false,
        isLocal: Bool = false, isCached: Bool = false, end: @escaping () -> Void = {},
        deliver: @escaping (ResultEvent) -> Void
    ) throws -> UInt64 {
        let subscription = try subscriptions.hold(query, isLocal: isLocal, isCached: isCached)
        subscription.remember()
        do {
            return try observations.begin(
                subscription, readability: readability, reportsPending: reportsPending, isPrompt: isPrompt, end: end,
                deliver: deliver)
        } catch {
            try? release(subscription)
            throw error
        }
    }

    /// Calls `body` once every prompt observer of a query has handled an event that says that the query is complete, or
    /// no such event is due because the query is not complete.
    package func whenHandledComplete(_ query: Query, _ body: @escaping () -> Void) {
        guard let subscription = active[query: query.hash] else { return body() }
        observations.whenHandledComplete(subscription, body)
    }

    /// Says that the consumer of an observation has handled its last event.
    package func observerIsReady(_ id: UInt64) { observations.consumerIsReady(id) }

    /// Ends an observation. Within a write its events end at once, and the rest happens after the write has ended.
    ///
    /// - Parameters:
    ///   - keeping: whether the query stays in sync without observers.
    ///   - purging: whether to remove the query's objects from this store, if syncing ends.
    package func endObservation(_ id: UInt64, keeping: Bool, purging: Bool) throws {
        guard let subscription = observations.end(id) ?? subscriptions.endLingering(id) else { return }
        try transactions.afterwards { [unowned self] in
            try release(subscription, keeping: keeping, purging: purging)
        }
    }

    /// Ends the events of an observation, which goes on holding its subscription until ``endHold(_:purging:)``.
    package func endEvents(_ id: UInt64) {
        if let subscription = observations.end(id) { subscriptions.linger(subscription, as: id) }
    }

    /// Ends the hold that an observation without events has on its subscription.
    ///
    /// - Parameter purging: whether to remove the query's objects from this store, if syncing ends.
    package func endHold(_ id: UInt64, purging: Bool) throws {
        guard let subscription = subscriptions.endLingering(id) else { return }
        try transactions.afterwards { [unowned self] in try release(subscription, purging: purging) }
    }

    /// Ends the syncing of a query that is kept without holders. It does nothing while somebody observes the query.
    ///
    /// Within a write, it happens after the write has ended.
    package func stopSyncing(_ query: Query, purging: Bool) throws {
        try transactions.afterwards { [unowned self] in
            try subscriptions.stopKeeping(query, purging: purging)
            try outbox.retire()
        }
    }

    /// The queries that are in sync, by their text.
    package var storeSubscriptions: [StoreSubscription] {
        active.synced.map { subscription in
            StoreSubscription(
                query: subscription.query.canonicalText, status: subscription.status,
                holderCount: subscription.holderCount)
        }.sorted { $0.query < $1.query }
    }

    func release(_ subscription: Subscription, keeping: Bool? = nil, purging: Bool = false) throws {
        try subscriptions.release(subscription, keeping: keeping, purging: purging)
        try outbox.retire()
    }

    /// Removes every object that no subscription holds and that has no pending writes.
    ///
    /// - Returns: how many objects were removed.
    @discardableResult
    package func purgeUnsubscribed() throws -> Int { try subscriptions.purgeUnsubscribed() }
}
