package import SluiceModel
package import SluiceQuery
package import SluiceWire

/// Waiting for a query, an upload or a session.
extension ClientEngine {
    /// Holds a subscription without an observer, and calls `waiter` with its status, at once and whenever it changes,
    /// until `waiter` returns true.
    ///
    /// - Parameter isLocal: whether the query is known to find only objects of a class that does not sync.
    /// - Returns: the number of the wait, for ``releaseStatus(_:waiter:)``.
    package func awaitStatus(
        _ query: Query, isLocal: Bool = false, _ waiter: @escaping (SubscriptionStatus) -> Bool
    ) throws -> UInt64 {
        statusWaiters.add(waiter, to: try subscriptions.hold(query, isLocal: isLocal))
    }

    /// Releases a subscription that ``awaitStatus(_:_:)`` holds.
    package func releaseStatus(_ query: Query, waiter: UInt64) throws {
        guard let subscription = subscriptions[query] else { return }
        subscription.waiters[waiter] = nil
        try release(subscription)
    }

    /// What has ended syncing for good; nil while it goes on.
    package var syncFailure: SyncError? { session.failure }

    /// Calls `waiter` with whether everything written here is acknowledged, now and after each acknowledgement, or with
    /// the error that ended syncing, until it returns true.
    ///
    /// - Returns: the number for ``cancelWaiter(_:)``; nil if `waiter` returned true at once.
    package func whenUploaded(_ waiter: @escaping (Result<Bool, SyncError>) -> Bool) -> UInt64? {
        if let error = session.failure, waiter(.failure(error)) { return nil }
        outbox.storePostponed()
        if waiter(.success(outbox.isEmpty)) { return nil }
        if let problem = session.standstill ?? outbox.problem, waiter(.failure(problem)) { return nil }
        return waiters.add(.uploaded, waiter)
    }

    /// Does the same for one write: `waiter` is called with whether the server has it, or with why the server has
    /// rejected it.
    package func whenUploaded(
        _ receipt: WriteReceipt, _ waiter: @escaping (Result<Bool, SyncError>) -> Bool
    ) -> UInt64? {
        whenUploaded { result in
            switch receipt.fate {
            case .uploaded: waiter(.success(true))
            case .rejected(let reason): waiter(.failure(reason))
            case .waiting, .unstored: waiter(result.map { _ in false })
            }
        }
    }

    /// Asks the server what a job wants to know, as soon as a session is open.
    ///
    /// - Parameter reply: called with the answer's bytes, and with the server's schema that they belong to; or with why
    ///   there are none: ``SyncError/Code/unreachable`` if it makes sense to ask again, ``SyncError/Code/stopped`` where the
    ///   server could not be reached and syncing has ended.
    /// - Returns: the number for ``cancelWaiter(_:)``; nil if the question is on its way, or has failed.
    package func ask(
        _ question: ClientMessage.JobCall.Question,
        _ reply: @escaping (Result<(bytes: [UInt8], schema: Schema), SyncError>) -> Void
    ) -> UInt64? {
        whenConnected { [unowned self] result in
            switch result {
            case .success(true):
                serverRequests.job(question) { [unowned self] in reply($0.map { ($0, schemas.server) }) }
            case .success(false): return false
            case .failure(let error):
                let isOver = session.failure != nil && error.code == .unreachable
                reply(.failure(isOver ? SyncError(.stopped, error.message) : error))
            }
            return true
        }
    }

    /// Calls `waiter` with whether the session is open, now and when it opens, or with the error that ended syncing,
    /// until it returns true.
    ///
    /// - Returns: the number for ``cancelWaiter(_:)``; nil if `waiter` returned true at once.
    package func whenConnected(_ waiter: @escaping (Result<Bool, SyncError>) -> Bool) -> UInt64? {
        if let error = session.standstill, waiter(.failure(error)) { return nil }
        if waiter(.success(session.isActive)) { return nil }
        return waiters.add(.connected, waiter)
    }
}
