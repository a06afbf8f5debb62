package import SluiceModel
package import SluiceQuery
internal import SluiceStorage

/// What the shell asks for beside events and writes.
extension ClientEngine {
    // MARK: Observing

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

    private func release(_ subscription: Subscription, keeping: Bool? = nil, purging: Bool = false) throws {
        try subscriptions.release(subscription, keeping: keeping, purging: purging)
        try outbox.retire()
    }

    /// Removes every object that no subscription holds and that has no pending writes.
    ///
    /// - Returns: how many objects were removed.
    @discardableResult
    package func purgeUnsubscribed() throws -> Int { try subscriptions.purgeUnsubscribed() }

    // MARK: Refused writes

    /// The refused writes whose values stay visible.
    var refusedWrites: [RefusedWrite] {
        refused.records.filter { !$0.operations.isEmpty }.map { record in
            let objects = Set(record.operations.map(\.object)).sorted()
            return RefusedWrite(
                id: record.number, rejections: record.reports,
                objects: objects.map { Identity(className: storage.schema[$0.classIndex].name, key: $0.key) })
        }
    }

    /// What was refused and nobody was told of, also in earlier processes.
    package var unreportedRejections: [WriteRejection] { refused.records.filter { !$0.isReported }.flatMap(\.reports) }

    /// Notes that a handler was told of a rejection.
    package func noteReported(_ rejection: WriteRejection) {
        guard let number = rejection.number, storage.obstacle == nil else { return }
        faults.recording("it could not be noted that a rejection was reported") {
            try transactions.run(.local) { _ in try refused.noteReported([number]) }
        }
    }

    /// Shows the server's state again instead of refused values.
    ///
    /// - Parameter object: the object whose refused values go; nil for those of all objects.
    package func discardRefusedWrites(of object: Identity?) throws {
        let reference = try object.map { object in
            guard let classIndex = storage.schema.index(of: object.className) else {
                throw StoreError(.unknownClass, MissingNames.text(class: object.className))
            }
            return ObjectRef(classIndex, object.key)
        }
        try outbox.discardRefused(of: reference.map { [$0] })
    }

    // MARK: Waiting

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

    /// How many rows of a query's results the server has sent since the last request for them.
    package func arrivedCount(of query: Query) -> Int { active[query: query.hash]?.arrivedCount ?? 0 }

    /// What has ended syncing for good; nil while it goes on.
    package var syncFailure: SyncError? { session.failure }

    /// Calls `waiter` with whether everything written here is acknowledged, now and after each acknowledgement, or with
    /// the error that ended syncing, until it returns true.
    ///
    /// - Returns: the number for ``cancelWaiter(_:)``; nil if `waiter` returned true at once.
    package func whenUploaded(_ waiter: @escaping (Result<Bool, SyncError>) -> Bool) -> UInt64? {
        if let error = session.failure, waiter(.failure(error)) { return nil }
        outbox.settle()
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

    /// Calls `waiter` with whether the session is open, now and when it opens, or with the error that ended syncing,
    /// until it returns true.
    ///
    /// - Returns: the number for ``cancelWaiter(_:)``; nil if `waiter` returned true at once.
    package func whenConnected(_ waiter: @escaping (Result<Bool, SyncError>) -> Bool) -> UInt64? {
        if let error = session.standstill, waiter(.failure(error)) { return nil }
        if waiter(.success(session.isActive)) { return nil }
        return waiters.add(.connected, waiter)
    }

    package func cancelWaiter(_ number: UInt64) { waiters.cancel(number) }

    // MARK: Progress

    /// Tells `listener` how far a transfer has come, now and after each event, until ``unwatchProgress(_:)``.
    ///
    /// - Parameter query: the query that is watched alone, which somebody holds; nil for all.
    /// - Returns: the number for ``unwatchProgress(_:)``.
    func watchProgress(
        _ direction: SyncProgress.Direction, _ extent: SyncProgress.Extent, of query: Query? = nil,
        _ listener: EventListener<SyncProgress>
    ) -> UInt64 {
        progress.add(direction, extent, query: query?.hash, listener)
    }

    /// Ends what ``watchProgress(_:_:of:_:)`` began.
    func unwatchProgress(_ number: UInt64) { progress.remove(number) }

    /// Tells those who watch transfers what the last event has changed.
    package func reportProgress() { progress.report() }

    // MARK: Asking the server

    /// Asks the server for a report.
    package func requestReport(_ topic: ReportTopic, reply: @escaping (Result<[UInt8], SyncError>) -> Void) {
        serverRequests.report(topic, reply: reply)
    }

    /// Asks the server to remove a class, or a property, from its schema.
    package func requestRemoval(
        ofClass className: String, property: String?, reply: @escaping (Result<[UInt8], SyncError>) -> Void
    ) {
        serverRequests.removal(ofClass: className, property: property, reply: reply)
    }

    /// Asks the server what the user may do.
    ///
    /// - Parameters:
    ///   - question: JSON, as PROTOCOL.md says.
    ///   - isLasting: whether only other rights make another answer, which is then kept.
    package func requestPrivileges(
        _ question: String, isLasting: Bool, reply: @escaping (Result<[UInt8], SyncError>) -> Void
    ) {
        privileges.ask(question, isLasting: isLasting, reply: reply)
    }

    /// Asks the server to store other rules.
    ///
    /// - Parameter isTrial: whether it only says what they would change.
    package func requestDeployment(
        of file: [UInt8], isTrial: Bool, reply: @escaping (Result<[UInt8], SyncError>) -> Void
    ) {
        serverRequests.deployment(file, isTrial: isTrial, reply: reply)
    }

    /// Reports which objects travel.
    ///
    /// - Parameters:
    ///   - isHeard: whether anybody listens.
    ///   - report: called for each step that has carried objects.
    package func reportTransfers(while isHeard: @escaping () -> Bool, _ report: @escaping (ObjectTransfer) -> Void) {
        transfers.isHeard = isHeard
        transfers.onTransfer = report
    }

    // MARK: Messages

    /// Sends an ephemeral message to whoever listens to a topic.
    package func sendMessage(
        _ payload: [UInt8], to topic: String, reply: @escaping (Result<[UInt8], SyncError>) -> Void
    ) {
        serverRequests.message(payload, to: topic, reply: reply)
    }

    /// Passes messages to a topic on to `listener`, until ``stopListening(_:)``.
    func listen(to topic: String, _ listener: EventListener<SessionMessage>) -> UInt64 { messages.add(topic, listener) }

    /// Ends what ``listen(to:_:)`` began.
    func stopListening(_ number: UInt64) { messages.remove(number) }

    // MARK: The present state

    /// What syncing does now. O(1).
    package var sessionStatus: SessionStatus {
        let problem = lastProblem
        switch session.phase {
        case .stopped: return .stopped
        case .paused: return SessionStatus(state: .paused, connection: .disconnected, activity: .stopped)
        case .failed(let error):
            let needsCredentials = error.code == .notAuthenticated
            return SessionStatus(
                state: needsCredentials ? .needsCredentials : .failed(error), connection: .disconnected,
                activity: .stopped, problem: error.message)
        case .waiting:
            return SessionStatus(state: .active, connection: .disconnected, activity: .offline, problem: problem)
        case .connecting, .greeting, .opening:
            return SessionStatus(state: .active, connection: .connecting, activity: .connecting, problem: problem)
        case .active:
            let isIdle = outbox.isEmpty && active.isSettled
            return SessionStatus(
                state: .active, connection: .connected, activity: isIdle ? .idle : .busy,
                login: session.login.accepted, problem: problem)
        }
    }

    /// Says what syncing does now, to who follows that.
    package func reportStatus() { if syncs { onStatus?(sessionStatus) } }

    /// How far the server's clock was ahead of this machine's when the last session opened; nil before the first one.
    package var serverClockOffset: Duration? { session.login.serverClockOffset.map { .microseconds($0) } }

    /// Whether an attempt to connect is running.
    package var isConnecting: Bool { session.phase == .connecting }

    /// Whether a connection or a session is being opened.
    package var isOpening: Bool { session.phase.isTrying && !session.isActive }

    /// Whether a handler on the store's own queue has an event that it has not handled.
    package var hasBusyObservers: Bool { observations.hasBusyObservers }

    /// Whether a session is open.
    package var isSessionOpen: Bool { session.isActive }

    /// The session token that the server gave at the last login; nil if it gave none.
    package var sessionToken: String? { session.login.sessionToken }

    /// Says whether new credentials can be had when those expire.
    package func setLogin(isRenewable: Bool) { session.login.isRenewable = isRenewable }

    /// Why the last session or attempt ended; nil once the server has sent content again, and acknowledged something if
    /// it had reported a problem.
    package var lastProblem: String? { session.problem(acknowledged: outbox.acknowledgedSequence) }

    /// Why those who wait for the server still wait, and what would help; nil if nothing is wrong.
    package var obstacle: String? {
        switch session.phase {
        case .paused: "syncing is paused; store.session?.resume() goes on"
        case .stopped, .failed: session.standstill?.message
        case .waiting: lastProblem
        case .connecting, .greeting, .opening: lastProblem ?? "the server has not answered the attempt to connect yet"
        case .active: sessionStatus.activity == .idle ? lastProblem : lastProblem ?? session.silence(until: now())
        }
    }

    /// The highest sequence that the server is known to have.
    package var acknowledgedSequence: UInt64 { outbox.acknowledgedSequence }

    /// How many times a subscription was compared with the server's digest.
    package var checkCount: Int { checks.count }

    /// How many times a subscription differed from the server's digest and was fetched anew.
    package var mismatchCount: Int { checks.mismatchCount }

    /// How many pending operations were read to compute visible rows. Tests use it to see how this work grows.
    package var pendingReadCount: Int { images.readCount }

    /// How much work observing has cost. Tests use it to see how this work grows.
    package var observationWork: ObservationWork { observations.work }

    /// How many results all observers hold in memory, including those beyond a limit. O(observers).
    package var heldResultCount: Int { observations.heldResultCount }
}
