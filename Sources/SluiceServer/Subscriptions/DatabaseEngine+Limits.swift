internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

extension DatabaseEngine {
    /// Runs what a query makes the database do, within the limit.
    ///
    /// - Parameter session: whom it is done for; nil for everybody.
    /// - Throws: ``StorageError``, that of a query that takes too much included, see ``StorageError/isOfQuery``.
    func limitingWork<Result>(for session: SessionID?, _ body: () throws -> Result) throws -> Result {
        let isAbandoned = isAbandoned
        let limit = WorkLimit(stepCountMax: limits.queryStepCountMax) { isAbandoned(session) }
        return try storage.withWorkLimit(limit, body)
    }

    /// Runs what the query of a subscription makes the database do; if that is too much, the subscription ends, and
    /// nothing else.
    func guardingQuery(of subscription: ViewSubscription, _ body: () throws -> Void) throws {
        do {
            try limitingWork(for: subscription.session.id, body)
        } catch let error as StorageError where error.isOfQuery {
            end(subscription, because: error)
        }
    }

    /// Ends a subscription whose query asks too much of the database.
    func end(_ subscription: ViewSubscription, because error: StorageError) {
        let session = subscription.session
        guard session.subscriptions.removeValue(forKey: subscription.id) != nil else { return }
        remove(subscription)
        log?(
            .warning, "a query was given up",
            [("database", name), ("query", subscription.view.query.canonicalText), ("error", "\(error)")])
        let refusal = ServerMessage.SubscriptionError(
            session: session.id.session, subscription: subscription.id, code: error.refusal.code,
            message: error.refusal.message, position: nil)
        send([.subscriptionError(refusal)], to: session.id)
    }

    /// Ends a view that could not follow a commit: its subscribers begin anew, or are told that their query is too much.
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
    var refusal: (code: ErrorCode, message: String) {
        if code == .interrupted {
            let advice = "make it more selective, or do without aggregates and subqueries for each of many objects"
            return (.limitExceeded, "the query takes more work than this server allows; \(advice)")
        }
        return (.invalidQuery, "the server's database does not take the query; write it with less nesting")
    }
}
