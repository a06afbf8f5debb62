internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

extension DatabaseEngine {
    /// Runs the work of a query within a limit.
    ///
    /// - Parameters:
    ///   - session: the session for which the work is done and to which it is charged; nil for all of them.
    ///   - stepCountMax: the limit; nil for that of a query.
    /// - Throws: ``StorageError``; if only the query must end, one with ``StorageError/endsQueryAlone``.
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
        } catch let error as StorageError where error.endsQueryAlone {
            end(subscription, because: error)
        }
    }

    /// Rejects a subscription whose query takes too much work, meets damage, or cannot be run.
    func refuse(_ start: SubscriptionStart, because error: StorageError) {
        noteRefusal("a query was refused", start.query, error)
        let (code, message) = subscriberError(of: error)
        refuse(start.request, start.session, code, message)
    }

    private func noteRefusal(_ what: String, _ query: Query, _ error: StorageError) {
        guard !error.isOfDamage else { return noteFailure("\(what): \(query.canonicalText)", error) }
        log?(.warning, what, [("database", name), ("query", query.canonicalText), ("error", "\(error)")])
    }

    /// Ends a subscription whose query takes too much work, meets damage, or cannot be run.
    func end(_ subscription: ViewSubscription, because error: StorageError) {
        let session = subscription.session
        guard session.subscriptions.removeValue(forKey: subscription.id) != nil else { return }
        remove(subscription)
        noteRefusal("a query was given up", subscription.view.query, error)
        let (code, message) = subscriberError(of: error)
        let failure = ServerMessage.SubscriptionError(
            session: session.id.session, subscription: subscription.id, code: code, message: message, position: nil)
        send([.subscriptionError(failure)], to: session.id)
    }

    /// Ends a view that could not be updated after a commit. Its subscribers start anew, or learn that their query
    /// takes too much work.
    func giveUp(_ view: SharedView, because error: any Error) {
        if let error = error as? StorageError, error.endsQueryAlone {
            for subscription in view.subscriptions { end(subscription, because: error) }
            return
        }
        noteFailure("a view could not follow a commit", error)
        for session in view.subscriptions.map(\.session) { end(session, because: error) }
    }

    /// The error for the subscriber of a query that ends alone, see ``StorageError/endsQueryAlone``.
    func subscriberError(of error: StorageError) -> (code: ErrorCode, message: String) {
        if error.isOfDamage {
            let damage = Self.damage(of: name, error)
            return (.databaseDamaged, "\(damage) where this query leads; it has to be restored from a backup")
        }
        if error.code == .interrupted {
            let advice = "make it more selective, or do without aggregates and subqueries for each of many objects"
            return (.limitExceeded, "the query takes more work than this server allows; \(advice)")
        }
        if error.code == .oversized { return (.limitExceeded, error.message) }
        return (.invalidQuery, "the server's database does not take the query; write it with less nesting")
    }
}

extension StorageError {
    /// Whether other queries of the database may do better: the query is to blame, or it meets damage or an object that
    /// is too large to be sent.
    var endsQueryAlone: Bool { code == .interrupted || code == .unsupported || code == .oversized || isOfDamage }
}
