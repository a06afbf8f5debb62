/// Tells those who wait for a subscription what has become of it.
struct StatusWaiters {
    private let session: SyncSession
    private let active: ActiveSubscriptions

    init(_ session: SyncSession, _ active: ActiveSubscriptions) {
        self.session = session
        self.active = active
    }

    /// Calls `waiter` with the status of a subscription, now and whenever it changes, until `waiter` returns true.
    ///
    /// - Returns: the number of the wait in the subscription.
    func add(_ waiter: @escaping (SubscriptionStatus) -> Bool, to subscription: Subscription) -> UInt64 {
        subscription.lastWaiter += 1
        if !waiter(currency(of: subscription)) { subscription.waiters[subscription.lastWaiter] = waiter }
        return subscription.lastWaiter
    }

    /// Calls the waiters of a subscription with its status, and removes those that return true.
    func notify(of subscription: Subscription) { notify(subscription, currency(of: subscription)) }

    /// Calls the waiters of a subscription with an error, because no answer will come.
    func fail(_ subscription: Subscription, _ error: SyncError) {
        notify(subscription, SubscriptionStatus(state: .error, error: error))
    }

    private func notify(_ subscription: Subscription, _ status: SubscriptionStatus) {
        for (id, waiter) in subscription.waiters where waiter(status) { subscription.waiters[id] = nil }
    }

    /// The status of a subscription for those who wait for the server's answer. A subscription that was complete in an
    /// earlier session is pending until this session has caught up. What ended syncing counts as the subscription's
    /// error.
    private func currency(of subscription: Subscription) -> SubscriptionStatus {
        let status = subscription.status
        if subscription.isLocal { return status }
        if status.state != .error, let error = session.standstill {
            return SubscriptionStatus(state: .error, error: error)
        }
        let isCurrent = session.isActive && !active.awaitsCatchUp
        return status.state == .complete && !isCurrent ? SubscriptionStatus(state: .pending) : status
    }
}
