internal import SluiceQuery

extension ClientEngine {
    /// Holds an interest without observing, and calls back with how current its results are until the callback returns
    /// true: at once, and whenever that changes.
    ///
    /// - Returns: the wait's number, for ``releaseStatus(_:waiter:)``.
    package func awaitStatus(
        _ query: Query, _ waiter: @escaping (SubscriptionStatus) -> Bool
    ) throws -> UInt64 {
        let interest = try addInterest(query)
        let number = nextNumber()
        if !waiter(currency(of: interest)) { interest.waiters[number] = waiter }
        return number
    }

    /// Lets go of an interest held by ``awaitStatus(_:_:)``.
    package func releaseStatus(_ query: Query, waiter: UInt64) throws {
        guard let interest = interests[query: query.hash] else { return }
        interest.waiters[waiter] = nil
        try releaseInterest(interest, keeping: interest.isKept, purging: false)
    }

    /// Tells those who wait for an interest; those that return true have what they waited for.
    func notifyWaiters(of interest: Interest) { tellWaiters(of: interest, currency(of: interest)) }

    /// Tells those who wait for an interest that nothing will come.
    func failWaiters(of interest: Interest, _ error: SyncError) {
        tellWaiters(of: interest, SubscriptionStatus(state: .error, error: error))
    }

    private func tellWaiters(of interest: Interest, _ status: SubscriptionStatus) {
        for (id, waiter) in interest.waiters where waiter(status) { interest.waiters[id] = nil }
    }

    /// The status of an interest for those who wait for the server's word: what is complete as of an earlier session is
    /// pending until this one has caught up, and what ended the session for good is an error.
    private func currency(of interest: Interest) -> SubscriptionStatus {
        let status = interest.status
        if status.state != .error, case .failed(let error) = session.phase {
            return SubscriptionStatus(state: .error, error: error)
        }
        let isCurrent = session.isActive && !session.awaitsCatchUp
        return status.state == .complete && !isCurrent ? SubscriptionStatus(state: .pending) : status
    }
}
