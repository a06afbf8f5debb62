internal import SluiceQuery

extension ClientEngine {
    /// Holds a subscription without an observer, and calls `waiter` with its status, at once and whenever it changes,
    /// until `waiter` returns true.
    ///
    /// - Returns: the number of the wait, for ``releaseStatus(_:waiter:)``.
    package func awaitStatus(
        _ query: Query, _ waiter: @escaping (SubscriptionStatus) -> Bool
    ) throws -> UInt64 {
        let subscription = try addSubscription(query)
        let number = nextNumber()
        if !waiter(currency(of: subscription)) { subscription.waiters[number] = waiter }
        return number
    }

    /// How many rows of a query's results the server has sent since the last request for them.
    package func arrivedCount(of query: Query) -> Int { subscriptions[query: query.hash]?.arrivedCount ?? 0 }

    /// Releases a subscription that ``awaitStatus(_:_:)`` holds.
    package func releaseStatus(_ query: Query, waiter: UInt64) throws {
        guard let subscription = subscriptions[query: current(query).hash] else { return }
        subscription.waiters[waiter] = nil
        try releaseSubscription(subscription, keeping: subscription.isKept, purging: false)
    }

    /// Calls the waiters of a subscription with its status, and removes those that return true.
    func notifyWaiters(of subscription: Subscription) { tellWaiters(of: subscription, currency(of: subscription)) }

    /// Calls the waiters of a subscription with an error, because no answer will come.
    func failWaiters(of subscription: Subscription, _ error: SyncError) {
        tellWaiters(of: subscription, SubscriptionStatus(state: .error, error: error))
    }

    private func tellWaiters(of subscription: Subscription, _ status: SubscriptionStatus) {
        for (id, waiter) in subscription.waiters where waiter(status) { subscription.waiters[id] = nil }
    }

    /// The status of a subscription for those who wait for the server's answer. A subscription that was complete in an
    /// earlier session is pending until this session has caught up. An error that ended syncing counts as the
    /// subscription's.
    private func currency(of subscription: Subscription) -> SubscriptionStatus {
        let status = subscription.status
        if status.state != .error, case .failed(let error) = session.phase {
            return SubscriptionStatus(state: .error, error: error)
        }
        let isCurrent = session.isActive && !session.awaitsCatchUp
        return status.state == .complete && !isCurrent ? SubscriptionStatus(state: .pending) : status
    }
}
