internal import SluiceQuery

extension ClientEngine {
    /// Holds a subscription without observing, and calls back with how current its results are until the callback returns
    /// true: at once, and whenever that changes.
    ///
    /// - Returns: the wait's number, for ``releaseStatus(_:waiter:)``.
    package func awaitStatus(
        _ query: Query, _ waiter: @escaping (SubscriptionStatus) -> Bool
    ) throws -> UInt64 {
        let subscription = try addSubscription(query)
        let number = nextNumber()
        if !waiter(currency(of: subscription)) { subscription.waiters[number] = waiter }
        return number
    }

    /// Lets go of a subscription held by ``awaitStatus(_:_:)``.
    package func releaseStatus(_ query: Query, waiter: UInt64) throws {
        guard let subscription = subscriptions[query: query.hash] else { return }
        subscription.waiters[waiter] = nil
        try releaseSubscription(subscription, keeping: subscription.isKept, purging: false)
    }

    /// Tells those who wait for a subscription; those that return true have what they waited for.
    func notifyWaiters(of subscription: Subscription) { tellWaiters(of: subscription, currency(of: subscription)) }

    /// Tells those who wait for a subscription that nothing will come.
    func failWaiters(of subscription: Subscription, _ error: SyncError) {
        tellWaiters(of: subscription, SubscriptionStatus(state: .error, error: error))
    }

    private func tellWaiters(of subscription: Subscription, _ status: SubscriptionStatus) {
        for (id, waiter) in subscription.waiters where waiter(status) { subscription.waiters[id] = nil }
    }

    /// The status of a subscription for those who wait for the server's word: what is complete as of an earlier session is
    /// pending until this one has caught up, and what ended the session for good is an error.
    private func currency(of subscription: Subscription) -> SubscriptionStatus {
        let status = subscription.status
        if status.state != .error, case .failed(let error) = session.phase {
            return SubscriptionStatus(state: .error, error: error)
        }
        let isCurrent = session.isActive && !session.awaitsCatchUp
        return status.state == .complete && !isCurrent ? SubscriptionStatus(state: .pending) : status
    }
}
