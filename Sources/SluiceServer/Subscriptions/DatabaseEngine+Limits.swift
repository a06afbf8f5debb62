internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

extension DatabaseEngine {
    /// Runs the work of a query within a limit.
    ///
    /// - Parameters:
    ///   - session: the session for which the work is done and to which it is charged; nil for all of them.
    ///   - stepCountMax: the limit; nil for that of a query.
    /// - Throws: ``StorageError``, that of a query that takes too much included, see ``StorageError/isOfQuery``.
    func limitingWork<Result>(
        for session: SessionID?, stepCountMax: Int? = nil, _ body: (WorkLimit) throws -> Result
    ) throws -> Result {
        let isAbandoned = isAbandoned
        // The interval is small enough to count shares of a turn accurately.
        let limit = WorkLimit(
            stepCountMax: stepCountMax ?? limits.queryStepCountMax, interval: limits.shareStepCountMax / 16
        ) { isAbandoned(session) }
        defer { if let session { turn.note(limit.stepCount, for: session) } }
        return try storage.withWorkLimit(limit) { try body(limit) }
    }

    /// Runs the work of a subscription's query. If it takes too much, only this subscription ends.
    func guardingQuery(of subscription: ViewSubscription, _ body: (WorkLimit) throws -> Void) throws {
        do {
            try limitingWork(for: subscription.session.id, body)
        } catch let error as StorageError where error.isOfQuery {
            end(subscription, because: error)
        }
    }

    /// Refuses a subscription whose query asks too much of the database.
    func refuse(_ start: SubscriptionStart, because error: StorageError) {
        log?(
            .warning, "a query was refused",
            [("database", name), ("query", start.query.canonicalText), ("error", "\(error)")])
        refuse(start.request, start.session, error.subscriberError.code, error.subscriberError.message)
    }

    /// Ends a subscription whose query asks too much of the database.
    func end(_ subscription: ViewSubscription, because error: StorageError) {
        let session = subscription.session
        guard session.subscriptions.removeValue(forKey: subscription.id) != nil else { return }
        remove(subscription)
        log?(
            .warning, "a query was given up",
            [("database", name), ("query", subscription.view.query.canonicalText), ("error", "\(error)")])
        let failure = ServerMessage.SubscriptionError(
            session: session.id.session, subscription: subscription.id, code: error.subscriberError.code,
            message: error.subscriberError.message, position: nil)
        send([.subscriptionError(failure)], to: session.id)
    }

    /// Ends a view that could not be updated after a commit. Its subscribers start anew, or learn that their query
    /// takes too much work.
    func giveUp(_ view: SharedView, because error: any Error) {
        if let error = error as? StorageError, error.isOfQuery {
            for subscription in view.subscriptions { end(subscription, because: error) }
            return
        }
        log?(.error, "a view could not follow a commit", [("database", name), ("error", "\(error)")])
        for session in view.subscriptions.map(\.session) {
            end(session, .internalError, Self.unusable(because: error), action: .retry)
        }
    }
}

extension StorageError {
    /// Whether the query is to blame, and not the database.
    var isOfQuery: Bool { code == .interrupted || code == .unsupported }

    /// What the subscriber of such a query is told.
    var subscriberError: (code: ErrorCode, message: String) {
        if code == .interrupted {
            let advice = "make it more selective, or do without aggregates and subqueries for each of many objects"
            return (.limitExceeded, "the query takes more work than this server allows; \(advice)")
        }
        return (.invalidQuery, "the server's database does not take the query; write it with less nesting")
    }
}
