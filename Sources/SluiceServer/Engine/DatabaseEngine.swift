package import SluiceModel
internal import SluiceQuery
internal import SluiceRules
package import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The session logic of one database, without threads, sockets or clocks: events in, actions out.
///
/// The engine only coordinates. Each part has its own state, knows nothing of the others, and returns what is to be
/// sent or ended:
///
/// - ``Sessions``: who the clients are, and what they may upload.
/// - ``Committer``: gathers the uploads of a batch of events, and commits them in one transaction.
/// - ``ViewHub``: the live views, which follow each commit. ``Publication`` encodes what has changed once for all.
/// - ``SubscriptionLifecycle``: the way of a subscription from its request to its last page, with
///   ``SubscriptionScheduler``, ``Resumer`` and ``PageSender``. ``ContextSwitch`` leads it on when its reader's rights
///   change.
/// - ``ViewDigests``, ``ReplicaDigests``, ``Housekeeping``, ``Reports``, ``JobAnswers``, ``MessageExchange``,
///   ``KeptObjectNotices``, ``StoredRules``, ``JSONWrites``: what happens beside that.
///
/// This file has events and sessions; what a commit does is in `DatabaseEngine+Commit`.
package final class DatabaseEngine {
    let database: Database
    let budget: WorkBudget
    let sessions: Sessions
    let committer: Committer
    let hub: ViewHub
    let digests: ViewDigests
    let subscriptions: Subscriptions
    let lifecycle: SubscriptionLifecycle
    let housekeeping: Housekeeping
    let replica: ReplicaDigests
    let permissions: Permissions
    let kept: KeptObjectNotices
    let observers = InProcessObservers()
    let jobs: JobAnswers
    let messages: MessageExchange
    let writes: JSONWrites
    /// Counts what has changed rights other than by a commit: rules, logins, values of `$client`.
    var rightsNumber: UInt64 = 0
    private let random: () -> UInt64
    /// Called before the file is closed, with where it stands in its journal, if it could be written.
    package var onClose: (JournalHead) -> Void = { _ in }
    let rules: StoredRules
    /// What the audit log has not been told.
    let audit = AuditNotes()
    var output = TurnOutput()
    /// The sessions that are to be opened together, in order.
    var arrivals: [IncomingSession] = []
    /// Whether the journal may have more than was applied.
    var isBehind = false
    /// The last group that was applied when the next one could not be; nil if it could. While it is still the last one,
    /// the database lacks what the journal has.
    var stuckPosition: UInt64?
    var encodedBlockCount: UInt64 = 0

    /// - Parameters:
    ///   - journal: where groups are appended; nil if nobody else appends to this database.
    ///   - workerID: the name of this server process in change events.
    ///   - readContext: what users may read, where no rules decide; nil for everything.
    ///   - rules: what users may read and do; nil if everybody may do everything else.
    ///   - policies: the validators and resolvers; nil for none.
    ///   - random: makes random numbers for nonces and ids.
    package init(
        name: String, storage: SQLiteServerStorage, journal: (any Journal)? = nil, workerID: String? = nil,
        limits: DatabaseLimits = DatabaseLimits(), log: LogSink? = nil,
        readContext: ReadContexts? = nil, rules: AccessRules? = nil, policies: WritePolicies? = nil,
        random: @escaping () -> UInt64
    ) {
        self.random = random
        database = Database(
            name: name, storage: storage, journal: journal, limits: limits, log: log)
        self.rules = StoredRules(database, audit, workerID: workerID, ofServer: rules?.file)
        permissions = Permissions(database, contexts: readContext, rules: rules)
        budget = WorkBudget(database)
        sessions = Sessions(database, random: random)
        committer = Committer(database, workerID: workerID, policies: policies, random: random)
        hub = ViewHub(database)
        digests = ViewDigests(database, hub)
        subscriptions = Subscriptions(database)
        kept = KeptObjectNotices(database, sessions, subscriptions)
        jobs = JobAnswers(database, budget, subscriptions)
        messages = MessageExchange(database, permissions, subscriptions)
        writes = JSONWrites(database, committer, random: random)
        housekeeping = Housekeeping(database)
        replica = ReplicaDigests(database)
        lifecycle = SubscriptionLifecycle(
            database, budget, permissions, subscriptions, hub, digests, housekeeping.indexes)
        connectCommitter()
    }

    // MARK: Events

    /// Handles events, and commits uploads that follow each other together, unless a group is full or changes rights.
    package func handle(_ events: [DatabaseEvent], now: Timestamp) -> [DatabaseAction] {
        lifecycle.beginTurn()
        passTime(now: now)
        for event in events {
            // Whoever comes one after the other is let in together.
            if case .open = event {} else { openArrivals(now: now) }
            switch event {
            case .open(let id, let request, let user, let holder):
                let holder = holder ?? user.id.map { .user($0) } ?? .session(id)
                admit(IncomingSession(id: id, client: .init(open: request, user: user), holder: holder), now: now)
            case .renewed(let id, let user):
                commit(now: now)
                sessions[id]?.user = user
                switchContexts(permissions.renew(id, user))
            case .messages(let id, let messages):
                receive(messages, from: id, now: now)
            case .closed(let id):
                commit(now: now)
                close(id)
            case .prepared(let preparation):
                // What was only read needs no commit before it, so uploads on both sides share one.
                let wasOnlyRead = working { output in
                    lifecycle.content.finishReading(preparation, &output) || digests.finish(preparation, &output)
                        || jobs.finish(preparation, &output, now: now)
                }
                if wasOnlyRead { continue }
                commit(now: now)
                working { lifecycle.finish(preparation, &$0, now: now) }
            case .journalGrew:
                commit(now: now)
                if database.silence != nil { database.hastenRetry() } else { followSome() }
            case .journalAsked(let retry): if database.note(retry) { followSome() }
            case .relayed(let frames): for frame in frames { messages.deliver(frame, &output) }
            case .follow(let records):
                commit(now: now)
                follow(records)
            }
        }
        openArrivals(now: now)
        commit(now: now)
        sessions.forgetDeparted()
        permissions.forgetDeparted()
        return takeOutput()
    }

    /// What is to be sent at the end of a turn, with the answers to jobs that wait for a commit. Every turn may commit, and
    /// find that the database cannot be used any more: its sessions then end, since its owner closes it after the turn.
    func takeOutput() -> [DatabaseAction] {
        endAllIfVanished()
        working { jobs.renewReadings(&$0) }
        working { jobs.answerWaits(rightsNumber: rightsNumber, &$0) }
        return output.take()
    }

    /// Whether ``step(now:)`` has anything to do.
    package var hasWork: Bool { isBehind || lifecycle.hasWork }

    /// Does one turn of the waiting work: sends pages to clients that have credit, starts subscriptions, and begins costly
    /// queries beside the queue.
    package func step(now: Timestamp) -> [DatabaseAction] {
        if isBehind { followSome() }
        passTime(now: now)
        working { lifecycle.step(&$0, now: now) }
        return takeOutput()
    }

    /// Returns work to run beside the database's queue, which must then be given back with
    /// ``DatabaseEvent/prepared(_:)``; nil if there is none, or if it was taken already.
    package func takePreparation() -> QueryPreparation? { lifecycle.takePreparation() }

    /// Returns a page or a digest to be read beside the database's queue, which is given back in the same way; nil if
    /// there is none. Each takes a few milliseconds, and several may be read at the same time.
    package func takeReading() -> QueryPreparation? {
        lifecycle.content.takeReading() ?? digests.takeReading() ?? jobs.takeReading()
    }

    /// Returns a question to a journal that does not answer, to be asked beside the database's queue after its delay, and
    /// then to be given back with ``DatabaseEvent/journalAsked(_:)``; nil if there is none, or if it was taken already.
    package func takeRetry() -> JournalRetry? { database.takeRetry() }

    /// Returns the ephemeral messages of clients since the last call, as frames for the other servers of the cluster.
    package func takeMessages() -> [[UInt8]] { messages.takeUnrelayed() }

    /// Returns what is for the audit log since the last call.
    package func takeAuditNotes() -> [AuditNote] { audit.take() }

    private func receive(_ messages: [ClientMessage], from id: SessionID, now: Timestamp) {
        var resumed = Resumption(byteCountLeft: database.limits.frameByteCount)
        for message in messages {
            guard let session = sessions[id], let subscriber = subscriptions[id] else { return }
            if let step = sessions.confirmation(from: session) { committer.add(step, now: now) }
            if case .upload(_, let changesets) = message {
                guarding(id) { try upload(changesets, from: session, now: now) }
                continue
            }
            if case .write(let write) = message {
                guarding(id) { try self.write(write, from: session, subscriber, now: now) }
                continue
            }
            // What was resumed so far belongs to the state before the uploads, before what others have appended, or before
            // time moves.
            let timed = timedQuery(of: message)
            if committer.isDue(now: now, isPressing: false) || timed != nil || message.mayChangeState {
                output.send(resumed.take(), to: id)
            }
            commit(now: now)
            if let timed { bringTime(to: now, for: timed, isAwaited: false) }
            guard sessions[id] != nil else { return }
            guarding(id) { try handle(message, session, subscriber, with: &resumed, now: now) }
        }
        guard sessions[id] != nil else { return }
        output.send(resumed, to: id)
    }

    /// Runs what a part does, takes over what it wants sent, and ends the sessions that cannot go on.
    func working<Result>(_ body: (inout TurnOutput) throws -> Result) rethrows -> Result {
        var made = TurnOutput()
        defer {
            output.append(made)
            for (id, error) in made.failures { end(id, sessions.ending(after: error, "a request failed")) }
        }
        return try body(&made)
    }

    private func handle(
        _ message: ClientMessage, _ session: ServerSession, _ subscriber: Subscriber, with resumed: inout Resumption,
        now: Timestamp
    ) throws {
        let id = session.id
        switch message {
        case .subscribe(let request):
            try working { try lifecycle.subscribe(request, by: subscriber, with: &resumed, &$0, now: now) }
        case .unsubscribe(_, let subscription): lifecycle.unsubscribe(subscription, by: subscriber)
        case .credit(_, let pages):
            subscriber.addCredit(pages, atMost: database.limits.server.pageCreditMax)
        case .members(let members): try working { try lifecycle.content.compare(members, by: subscriber, &$0) }
        case .reportRequest(let request) where request.topic.isOfServer && subscriber.access.has(.reports):
            output.append([.consult(request, of: id)])
        case .reportRequest(let request):
            output.send([try answer(request, session, subscriber)], to: id)
        case .close:
            sessions.noteDeparture(of: session)
            close(id)
        case .declare(_, let schema): try declare(schema, by: session)
        case .remove(let removal): try remove(removal, by: session)
        case .cached(let offer): try working { try kept.answer(offer, by: subscriber, &$0) }
        case .deploy(let deployment): try deploy(deployment, by: session, now: now)
        case .variables(_, let values):
            try check(values)
            switchContexts(permissions.choose(values, by: id))
        case .listen(let request): output.send([messages.listen(request, by: session)], to: id)
        case .message(let message):
            working { output in
                let answer = messages.pass(message, of: session, &output, now: now)
                output.send([answer], to: id)
            }
        case .job(let call): try answer(call, session, subscriber, now: now)
        case .hello, .open, .authenticate, .upload, .write:
            throw SessionEnd(.protocolViolation, "this message does not belong in an open session", action: .stop)
        }
    }

    // MARK: Sessions

    private func close(_ id: SessionID) {
        guard sessions.remove(id) else { return }
        permissions.close(id)
        kept.close(id)
        messages.close(id)
        jobs.close(id)
        lifecycle.content.close(id)
    }

    /// Ends a session on the server's initiative; nothing happens if it is not open.
    func end(_ id: SessionID, _ reason: SessionEnd) {
        guard sessions[id] != nil else { return }
        output.end(id, reason)
        close(id)
    }

    /// Runs what is done for a session. An error ends this session and affects nothing else.
    func guarding(_ id: SessionID, _ body: () throws -> Void) {
        do { try body() } catch { end(id, sessions.ending(after: error, "a request failed")) }
    }

    private func endAllIfVanished() {
        guard let failure else { return }
        observers.failAll(ServerError(.database, database.unusable(because: failure), cause: failure))
        guard sessions.count > 0 else { return }
        if failure.code == .detached {
            database.note(.warning, "a database was detached from the cluster, so its sessions end")
        } else {
            let what = database.storage.failure == nil ? "a database has another history" : "a database vanished"
            database.note(.error, what, [("error", "\(failure)")])
        }
        endAll(
            .init(
                failure.code == .detached ? .unknownDatabase : .internalError, database.unusable(because: failure),
                action: .retry))
    }

    func endAll(_ reason: SessionEnd) { for id in sessions.ids { end(id, reason) } }

    /// Ends every session, since somebody who runs the server closes the database.
    ///
    /// - Parameter asker: who does, as the audit log names somebody; nil if that is not known.
    func endSessions(because reason: SessionEnd, by asker: String?) -> [DatabaseAction] {
        for id in sessions.ids {
            audit.note(
                .sessionEnded(.administrator, by: asker), in: id, user: sessions[id]?.user.id, because: reason.message)
        }
        endAll(reason)
        return takeOutput()
    }

    // MARK: The database

    /// Whether nobody waits any more for the work for a session, or, with nil, for any work. Called while a query runs.
    package var isAbandoned: @Sendable (SessionID?) -> Bool {
        get { database.isAbandoned }
        set { database.isAbandoned = newValue }
    }

    /// Applies what other engines have appended to the journal.
    package func catchUp() throws { try database.catchUp() }

    /// Closes the database's file as the end of the process does: what waits is not stored, and nothing is tidied up.
    package func abandon() { database.storage.close() }

    /// Whether there is nothing in the database: no class, and no rules.
    package var isEmpty: Bool {
        database.storage.schema.classes.isEmpty && (try? database.storage.rulesVersion) == 0
    }

    /// Whether the database has neither sessions nor work.
    package var isIdle: Bool {
        sessions.count == 0 && observers.isEmpty && !hub.clock.isAwaited && !hasWork && !lifecycle.isWorkingBeside
            && !digests.isReading
    }

    /// Why the database can no longer be used, because its file vanished or its journal has another history; nil while it
    /// can. Every session was told so.
    /// The database must then be closed, and is opened again for the next session.
    package var failure: StorageError? { database.storage.failure ?? database.otherHistory }

    /// Whether the database is to be closed, and opened again for the next session.
    package var mustReopen: Bool { database.obstacle.isOvercome || failure != nil }

    /// Checks that the database's file is still where it was opened, and ends every session if it is not.
    package func checkFile() -> [DatabaseAction] {
        try? database.storage.checkFile()
        endAllIfVanished()
        if database.probe() {
            // What others appended meanwhile could not be stored.
            if database.journal != nil { isBehind = true }
            recallSessions()
        }
        return takeOutput()
    }

    /// Ends the sessions that have uploads to send again, or all of them where the file must be opened anew.
    func recallSessions() {
        let isAll = database.obstacle.isOvercome
        for id in sessions.ids where isAll || sessions[id]?.uploads == .heldBack {
            end(id, .init(.internalError, "the server can write its database again", action: .retry))
        }
    }

    /// Begins a new epoch: what was served of the versions after the present one may not be what comes.
    package func beginEpoch() throws { try database.beginEpoch(random) }

    /// Does a bounded amount of maintenance.
    package func performMaintenance(now: Timestamp) {
        lifecycle.content.dropIdlePages(now: now)
        housekeeping.step(connected: sessions.connectedClients, now: now)
    }

    /// Closes the database's file. The engine cannot be used after that.
    ///
    /// - Parameter now: when what waits to be stored is stored; nil to drop that.
    package func close(now: Timestamp? = nil) {
        if let now, failure == nil { commit(now: now, isPressing: true) }
        endObservations(ServerError(.database, "the database was closed; observe the query again"))
        if failure == nil, database.isWritable { onClose(database.storage.head) }
        database.close()
    }

    /// The views that are kept current, to see whether any outlives the engine.
    package var views: [AnyObject] { Array(hub.all) }

    /// How many objects are watched that clients keep without a subscription. Tests use it.
    package var cachedObjectCount: Int { kept.checks.count }

    /// The numbers of the clients that have a session now.
    package var connectedClients: [UInt64] { sessions.connectedClients }

    /// How many live views commits may have to be followed by. What users share is counted once, however many they are.
    package var liveViewCount: Int { hub.filedCount }

    // Views, subscriptions and subscribers refer to each other.
    deinit {
        for view in hub.all { view.forgetSubscriptions() }
        subscriptions.forgetAll()
    }
}
