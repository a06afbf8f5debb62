internal import SluiceModel
internal import SluiceStorage
internal import SluiceTransport
internal import SluiceViews
internal import SluiceWire

extension ClientEngine {
    /// Handles an event. An error of the store ends the connection, which is tried again later.
    package func handle(_ event: ClientEvent) {
        switch event {
        case .start: start()
        case .stop: stop()
        case .opened: greet()
        case .closed(let reason, let isTransient): disconnected(reason, isTransient: isTransient)
        case .received(let frame): receive([frame])
        case .reconnect: if session.phase == .waiting { connect() }
        case .settle:
            isSettlingScheduled = false
            settle()
        }
    }

    /// Begins to sync. After an error of the server it tries again, since the cause may be gone.
    private func start() {
        if let obstacle = storage.obstacle { return fail(SyncError(.storage, obstacle.message)) }
        switch session.phase {
        case .stopped: connect()
        case .failed:
            for subscription in subscriptions.values { subscription.error = nil }
            connect()
        case .waiting, .connecting, .opening, .active: break
        }
    }

    private func connect() {
        guard syncs else { return }
        guard recording("what was written before syncing could not be queued", { try queueUnsyncedObjects() }) else {
            return
        }
        session.reset(to: .connecting)
        actions.append(.connect)
    }

    private func stop() {
        guard session.phase != .stopped else { return }
        leaveSession()
        session.reset(to: .stopped)
        backoff.reset()
        actions.append(.disconnect)
        failWaiters(SyncError(.stopped, "syncing was stopped"))
    }

    private func disconnected(_ reason: String, isTransient: Bool) {
        switch session.phase {
        case .stopped, .waiting, .failed: return
        case .connecting, .opening, .active: break
        }
        log?(.info, "disconnected", [("reason", reason)])
        if isTransient {
            leaveSession()
            retryLater(atLeast: .zero, because: reason)
        } else if !suspectUploads(because: reason) {
            fail(SyncError(.unreachable, reason))
        }
    }

    func leaveSession(because error: SyncError = SyncError(.unreachable, "the connection was lost")) {
        if session.isActive {
            recording("how far uploads have come could not be noted") {
                try transaction(.local) { _ in try markUploads(.through(session.sentSequence)) }
            }
        }
        for subscription in subscriptions.values {
            subscription.arrivedCount = 0
            subscription.wireID = nil
            if subscription.record.state == .bootstrapping { pause(subscription) }
        }
        for waiter in reportWaiters.values { waiter(.failure(error)) }
        reportWaiters = [:]
    }

    /// Ends a bootstrap that was interrupted. It starts anew in the next session.
    private func pause(_ subscription: Subscription) {
        subscription.record.state = .pending
        subscription.progress = 0
        subscription.endStaging()
        recording("a bootstrap could not be put off") {
            try transaction(.local) { _ in
                try storage.discardStaging(subscription.record.id)
                try storage.updateSubscription(subscription.record)
            }
        }
        notifyWaiters(of: subscription)
    }

    func retryLater(atLeast minimum: Duration, because reason: String) {
        lastProblem = reason
        var generator = RandomSource(random)
        let delay = backoff.delay(using: &generator)
        session.reset(to: .waiting)
        actions.append(.reconnect(after: max(delay, minimum)))
        onSession?(reason)
    }

    func fail(_ error: SyncError) {
        guard !isFailing else { return }
        isFailing = true
        defer { isFailing = false }
        log?(.error, "syncing stopped", [("error", error.message)])
        leaveSession(because: error)
        session.reset(to: .failed(error))
        actions.append(.disconnect)
        for subscription in subscriptions.values { subscription.error = subscription.error ?? error }
        failWaiters(error)
        hub.publishStatus(engine: self)
    }

    /// Checks that the store's file is still where it was opened, and ends syncing if it is not.
    package func checkFile() {
        do { try storage.checkFile() } catch let error as StorageError {
            if case .failed = session.phase { return }
            fail(SyncError(.storage, error.message))
        } catch {}
    }

    /// Leaves the connection after a violation of the protocol or an error of the store, and tries again later.
    func abandonConnection(_ reason: String) {
        log?(.warning, "leaving the connection", [("reason", reason)])
        actions.append(.disconnect)
        leaveSession()
        retryLater(atLeast: .seconds(1), because: reason)
    }

    /// Leaves the session, and returns no earlier than the server asked.
    func leaveForRetry(atLeast minimum: Duration, because reason: String) {
        leaveSession()
        retryLater(atLeast: minimum, because: reason)
    }

    /// Runs `body`, and logs an error. If the store's own file is damaged or gone, syncing stops, since it would meet
    /// the same error again.
    ///
    /// - Returns: false if syncing stopped.
    @discardableResult
    func recording(_ what: String, _ body: () throws -> Void) -> Bool {
        do { try body() } catch {
            log?(.error, what, [("error", "\(error)")])
            guard let error = error as? StorageError, error.isLasting else { return true }
            fail(SyncError(.storage, error.message))
            return false
        }
        return true
    }

    // MARK: Opening

    func opened(_ opened: ServerMessage.Opened) throws {
        guard session.phase == .opening, session.isGreeted else {
            return abandonConnection("the server opened a session that was not asked for, or before its hello")
        }
        let identity = opened.identity
        let beginsAnew = opened.outcome == .reset || opened.outcome == .forgotten
        if opened.outcome == .forgotten { try rejectUncertainUploads() }
        if beginsAnew { try forgetServer() }
        try transaction(.local) { transaction in
            try adopt(opened.schema, transaction)
            let version = beginsAnew ? 0 : storage.syncState?.version ?? 0
            try markUploads(.open)
            // A session that only reads leaves the stored identity of this file unchanged, for later sessions that
            // write.
            if options.isReadOnly, opened.outcome == .resumed { return }
            try storage.setSyncState(
                SyncState(
                    databaseID: identity.databaseID, epoch: identity.epoch, clientID: identity.clientID,
                    nonce: identity.nonce, version: version))
        }
        session.phase = .active
        lastProblem = nil
        backoff.reset()
        session.acknowledged = opened.acknowledged
        session.note(opened.rejections.map(quarantine.explained))
        session.sentSequence = session.acknowledged
        session.digestObjectCountLeft = options.digestObjectCountMax
        let messages = try subscriptions.values.sorted { $0.record.id < $1.record.id }.map { subscription in
            try subscribeMessage(subscription)
        }
        session.awaitsCatchUp = subscriptions.completeCount > 0
        if !messages.isEmpty { sendTogether(messages[...]) }
        try retireOutbox()
        if subscriptions.isEmpty { try advance(to: opened.version) }
        pumpUploads()
        log?(.info, "session opened", [("outcome", "\(opened.outcome)"), ("version", "\(opened.version)")])
        onSession?(nil)
        for (id, waiter) in connectionWaiters where waiter(.success(true)) { connectionWaiters[id] = nil }
    }

    /// Discards everything that came from the server, because its history is not the one that this store knows. The
    /// outbox stays.
    func forgetServer() throws {
        log?(.warning, "what this store had from the server is void; its objects are fetched anew")
        try transaction(.local) { transaction in
            for subscription in subscriptions.values {
                subscription.record.state = .pending
                subscription.record.version = 0
                try storage.updateSubscription(subscription.record)
                transaction.noteRebuild(subscription.record.id)
            }
            for record in storage.dormantSubscriptions { try storage.removeSubscription(record.id) }
            for classIndex in schema.classes.indices {
                var objects: [ObjectRef] = []
                try storage.forEachRow(ofClass: classIndex) { row in
                    objects.append(ObjectRef(classIndex, row.key))
                    return true
                }
                for object in objects {
                    if try storage.hasPending(object) {
                        guard var row = try storage.row(object) else { continue }
                        row.version = 0
                        try transaction.show(row, of: object)
                        try storage.setBaseImage(BaseImage.none, of: object)
                    } else {
                        try evict(object, reason: .unknown, transaction)
                    }
                }
            }
        }
    }

    func failWaiters(_ error: SyncError) {
        for (id, waiter) in connectionWaiters where waiter(.failure(error)) { connectionWaiters[id] = nil }
        for (id, waiter) in uploadWaiters where waiter(.failure(error)) { uploadWaiters[id] = nil }
        for subscription in subscriptions.values { failWaiters(of: subscription, subscription.error ?? error) }
    }
}

/// A generator that uses the injected source of random numbers.
private struct RandomSource: RandomNumberGenerator {
    private let random: () -> UInt64

    init(_ random: @escaping () -> UInt64) { self.random = random }

    func next() -> UInt64 { random() }
}
