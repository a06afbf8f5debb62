package import SluiceModel
internal import SluiceStorage
internal import SluiceTransport
internal import SluiceWire

/// The life of a connection: how a session opens, and what every part does when it ends.
extension ClientEngine {
    /// Handles an event. An error of the store ends the connection, which is tried again later.
    package func handle(_ event: ClientEvent) {
        defer { noteTimeSource() }
        passTime()
        switch event {
        case .start: start()
        case .stop: stop()
        case .pause: pause()
        case .resume: respond(to: .resume)
        case .retryAfterFailure: if session.failure != nil { start() }
        case .reconnectNow: respond(to: .reconnectNow)
        case .surroundingsChanged: respond(to: .networkChanged)
        case .opened(let place): greet(at: place)
        case .closed(let reason, let outlook, let wait): disconnected(reason, outlook, atLeast: wait)
        case .received(let frame): receive([frame])
        case .reconnect: respond(to: .waitOver)
        case .storePostponed:
            outbox.timerFired()
            faults.recording("the end of a reset could not be noted") { try endResetIfCaughtUp() }
        case .credentials(let credentials): session.login.replace(credentials)
        case .renew(let credentials): session.renew(credentials)
        }
    }

    /// Steers the session; within a write, after it has ended.
    ///
    /// - Parameter isReset: whether to discard first what this store knows of the server.
    package func steer(_ event: ClientEvent, isReset: Bool = false) throws {
        try transactions.afterwards { [unowned self] in
            if isReset {
                pause()
                try fetchAnew()
            }
            handle(event)
        }
    }

    /// Chooses other values of `$client`: what the server's rules allow by them comes and goes.
    package func setVariables(_ variables: ValueMap) {
        guard session.choose(variables) else { return }
        session.disconnect()
        comeAgain(atLeast: .zero, because: "the variables have changed")
    }

    // MARK: Opening

    /// Begins to sync. After an error of the server it tries again, since the cause may be gone.
    private func start() {
        if let obstacle = storage.obstacle { return fail(SyncError(.storage, obstacle.message)) }
        if session.failure != nil {
            for subscription in active.synced { subscription.retry() }
        }
        respond(to: .start)
    }

    /// How long an attempt to connect may have lasted to be given up when the machine's addresses change.
    private static let attemptTimeMin: Int64 = 2_000_000

    private func respond(to wish: SessionPhase.Wish) {
        switch session.phase.reaction(to: wish) {
        case .none: break
        case .attempt: connect()
        case .attemptAtOnce:
            session.resetBackoff()
            connect()
        case .probe: session.probe()
        case .giveUp:
            guard let began = session.attemptedAt, now().microseconds - began.microseconds >= Self.attemptTimeMin else {
                return
            }
            session.disconnect()
            comeAgain(atLeast: .zero, because: "the network has changed")
            respond(to: .reconnectNow)
        }
    }

    private func connect() {
        guard options.syncs else { return }
        let isQueued = faults.recording("what was written before syncing could not be queued") {
            try outbox.queueUnsyncedObjects()
        }
        if isQueued { session.connect(now: now()) }
    }

    /// Asks the server to open the session, and says hello unless somebody else does so on this connection.
    private func greet(at place: ConnectionPlace?) {
        guard session.phase == .connecting, let name = options.databaseName else { return }
        let state = storage.syncState
        let identity = state.map {
            ClientIdentity(databaseID: $0.databaseID, epoch: $0.epoch, clientID: $0.clientID, nonce: $0.nonce)
        }
        session.greet(at: now(), place) { number in
            .init(
                session: number, path: name, credentials: session.login.presented, identity: identity,
                version: state?.version ?? 0, acknowledged: outbox.retiredSequence,
                options: options.sessionOptions.union(session.mayMoveOn ? .hasOthers : []),
                variables: session.variables, schema: schemas.request(declaring: !options.isReadOnly))
        }
        guard let greeting = place?.greeting else { return }
        do { try greeted(greeting) } catch { abandonConnection("the connection was greeted twice") }
    }

    func greeted(_ reply: ServerMessage.HelloReply) throws {
        if let error = try session.greeted(reply) { return fail(error) }
        session.login.greeted(serverTime: reply.time, now: now())
        if let offset = session.login.serverClockOffset { storage.storeClock.note(offset: offset) }
        outbox.compareClock(with: reply.time, asked: session.askedAt ?? now())
    }

    func opened(_ opened: ServerMessage.Opened) throws {
        try session.checkIsOpening()
        let beginsAnew = opened.outcome == .reset || opened.outcome == .forgotten
        if beginsAnew {
            let reason =
                opened.outcome == .forgotten
                ? "the server has forgotten this store, which was away too long"
                : "the server's history is not the one that this store knows"
            guard
                try reset(
                    because: reason, inEpoch: opened.identity.epoch, acknowledged: opened.acknowledged,
                    rejectsUncertain: opened.outcome == .forgotten)
            else { return }
        }
        try storeIdentity(opened, version: beginsAnew ? 0 : storage.syncState?.version ?? 0)
        try session.activate(as: opened.userID)
        declareWhatCameMeanwhile()
        outbox.beginSession(acknowledged: opened.acknowledged, opened.rejections)
        try requests.beginSession()
        try outbox.retire()
        if active.synced.isEmpty, let version = storage.syncState?.version, version < opened.version {
            try transactions.run(.local) { _ in try storage.advance(to: opened.version) }
        }
        try offers.beginSession(hasContext: openingContext != nil)
        messages.beginSession()
        outbox.pump()
        try endResetIfCaughtUp()
        log?(.info, "session opened", [("outcome", "\(opened.outcome)"), ("version", "\(opened.version)")])
        onSession?(nil)
        reportStatus()
        waiters.notify(.connected, .success(true))
    }

    /// Declares what the request to open the session could not name yet: the program declared it while the request was
    /// under way.
    private func declareWhatCameMeanwhile() {
        guard !options.isReadOnly, !schemas.isReached else { return }
        session.send([.declare(session: session.number, schema: schemas.standing)])
    }

    private func storeIdentity(_ opened: ServerMessage.Opened, version: UInt64) throws {
        var identity = opened.identity
        if options.isReadOnly, opened.outcome == .resumed, let stored = storage.syncState {
            // A session that only reads keeps this file's number and nonce for later sessions that write. The epoch is
            // the one in which the versions to come are reached.
            identity.clientID = stored.clientID
            identity.nonce = stored.nonce
        }
        try transactions.run(.catchUp(acceptedAt: now()), durably: true) { transaction in
            try adopt(opened.schema ?? schemas.requested, transaction)
            try outbox.markOpen()
            let values = schemas.map.map { HiddenValues(storage, images, $0, transaction) }
            try ReadingContext(storage).begin(openingContext, active, values, transaction)
            try storage.setSyncState(
                SyncState(
                    databaseID: identity.databaseID, epoch: identity.epoch, clientID: identity.clientID,
                    nonce: identity.nonce, version: version))
        }
    }

    // MARK: Ending

    private func stop(
        because error: SyncError = SyncError(.stopped, "syncing was stopped; store.session?.start() begins again")
    ) {
        guard session.phase != .stopped else { return }
        endSession(because: error)
        session.stop()
        failWaiters(error)
    }

    private func pause() {
        guard session.phase.isTrying || session.phase == .waiting else { return }
        endSession(because: SyncError(.unreachable, "syncing was paused; store.session?.resume() goes on"))
        session.pause()
    }

    private func disconnected(_ reason: String, _ outlook: TransportError.Outlook, atLeast wait: Duration) {
        guard session.phase.isTrying else { return }
        log?(.info, "disconnected", [("reason", reason)])
        if outlook != .passing, suspectUploads(because: reason) { return }
        // What is at the address was the server at some time, and may be again.
        let mayPass = outlook == .passing || outlook == .unclear && hasReachedServer
        guard mayPass else { return fail(SyncError(.unreachable, reason)) }
        // Who asks to wait is not to keep the store away for longer than it would stay by itself.
        let wait = session.triesOtherServer ? .zero : min(wait, options.reconnectDelayMax)
        comeAgain(atLeast: wait, because: reason, isProblem: true)
    }

    /// Whether a server has opened a session for this store, in this process or before.
    private var hasReachedServer: Bool { session.wasOpen || storage.syncState != nil }

    /// Handles an error of the whole session, or a problem that the server reports and goes on with.
    func failed(_ failure: ServerMessage.Failure) throws {
        let error = SyncError(SyncError.Code(failure.code), failure.message)
        switch failure.action {
        case .report:
            session.note(report: failure.message, acknowledged: outbox.acknowledgedSequence)
            log?(
                .warning, "the server reports a problem",
                [("code", failure.code.rawValue), ("message", failure.message)])
            if failure.code == .databaseDamaged { outbox.stopUploads(because: error) }
        case .reset:
            let epoch = storage.syncState?.epoch ?? 0
            guard
                try reset(
                    because: failure.message, inEpoch: epoch, acknowledged: outbox.acknowledgedSequence,
                    rejectsUncertain: false)
            else { return }
            session.disconnect()
            comeAgain(atLeast: .milliseconds(Int64(clamping: failure.retryAfter)), because: failure.message)
            // The next session begins without an identity, and uploads what is not acknowledged.
            try transactions.run(.local) { _ in try storage.setSyncState(nil) }
        case .retry:
            session.disconnect()
            log?(.info, "the server asks to come again", [("message", failure.message)])
            comeAgain(
                atLeast: .milliseconds(Int64(clamping: failure.retryAfter)), because: failure.message, isProblem: true)
        case .stop where failure.code == .credentialsExpired && session.login.isRenewable:
            // The next connection begins with a new token.
            session.disconnect()
            comeAgain(atLeast: .zero, because: failure.message)
        case .stop:
            let isOfFrame = failure.code == .protocolViolation || failure.code == .limitExceeded
            guard isOfFrame, suspectUploads(because: failure.message) else { return fail(error) }
        }
    }

    /// Comes again after the server ended the connection over what may have been an upload.
    ///
    /// - Returns: false if none travelled.
    private func suspectUploads(because reason: String) -> Bool {
        guard outbox.suspectUploads(because: reason) else { return false }
        session.disconnect()
        comeAgain(atLeast: .zero, because: reason)
        return true
    }

    /// Leaves the connection after a violation of the protocol or an error of the store, and tries again later.
    func abandonConnection(_ reason: String) {
        log?(.warning, "leaving the connection", [("reason", reason)])
        session.disconnect()
        comeAgain(atLeast: .seconds(1), because: reason, isProblem: true)
    }

    /// Goes to another server, since this one hands its sessions over, or asks for another to be tried.
    func moved(to url: String) {
        guard !url.isEmpty else {
            log?(.info, "the server asks for another to be tried", [])
            guard session.mayMoveOn else {
                session.disconnect()
                let reason = "the server asks for another to be tried, and none is left"
                return comeAgain(atLeast: .zero, because: reason, isProblem: true)
            }
            endSession()
            if session.failure == nil { session.moveOn() }
            return
        }
        log?(.info, "the server hands the session over", [("to", url)])
        endSession()
        guard session.failure == nil, !session.follow(to: url) else { return }
        session.disconnect()
        comeAgain(atLeast: .zero, because: "servers hand this store round in a circle", isProblem: true)
    }

    /// Connects again, after a wait unless another server is left to try.
    ///
    /// - Parameter isProblem: whether it counts as a failed attempt, and may end those who wait.
    private func comeAgain(atLeast minimum: Duration, because reason: String, isProblem: Bool = false) {
        endSession()
        // The store may have failed on the way.
        guard session.failure == nil else { return }
        if isProblem, session.isOutOfAttempts {
            let count = options.attemptCountMax ?? 0
            let message = "\(count) attempts to connect have failed, and no more are made: \(reason)"
            return fail(SyncError(.unreachable, message))
        }
        session.retry(atLeast: minimum, because: reason)
        onSession?(reason)
        if isProblem, options.cancelsWaitsOnNonFatalErrors { failWaiters(SyncError(.unreachable, reason)) }
    }

    /// Ends syncing with an error that trying again would not mend.
    func fail(_ error: SyncError) {
        guard !isFailing else { return }
        isFailing = true
        defer { isFailing = false }
        log?(.error, "syncing stopped", [("error", error.message)])
        endSession(because: error)
        session.fail(error)
        for subscription in active.synced { subscription.stop(because: error) }
        failWaiters(error)
        observations.publishStatus()
    }

    /// Has every part forget the connection.
    private func endSession(because error: SyncError = SyncError(.unreachable, "the connection was lost")) {
        if session.isActive, !active.awaitsCatchUp {
            for subscription in active.values where subscription.isComplete { subscription.confirm(until: now()) }
        }
        outbox.endSession(wasOpen: session.isActive)
        requests.endSession()
        schemas.endSession()
        offers.endSession()
        images.forgetLost()
        inbox.removeAll()
        openingContext = nil
        serverRequests.failAll(error)
        privileges.forget()
    }

    private func failWaiters(_ error: SyncError) {
        reportStatus()
        waiters.notify(.connected, .failure(error))
        waiters.notify(.uploaded, .failure(error))
        for subscription in active.synced { statusWaiters.fail(subscription, subscription.error ?? error) }
    }

    /// Checks that the store's file is still where it was opened, and ends syncing if it is not.
    package func checkFile() {
        do { try storage.checkFile() } catch let error as StorageError {
            if session.failure == nil { fail(SyncError(.storage, error.message)) }
        } catch {}
    }

    /// Ends syncing and every observation. The engine cannot be used after that.
    package func close() {
        outbox.storePostponed()
        sayGoodbye()
        stop(because: SyncError(.stopped, "the store was closed; open it again"))
        observations.endAll()
        progress.endAll()
        messages.endAll()
    }

    /// Tells the server that this store ends, if everything written here is acknowledged, so that the server removes
    /// the record of a short-lived store.
    private func sayGoodbye() {
        guard options.isShortLived, session.isActive, outbox.isEmpty else { return }
        session.send([.close(session: session.number)])
    }
}
