package import SluiceModel
internal import SluiceQuery
package import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The session logic of one database, without threads, sockets or clocks: events in, actions out.
///
/// The uploads in one batch of events share a transaction. Views are updated with the changes of the whole group, and
/// the change of a view is encoded once for all its subscribers. Pages of bootstraps are sent between batches, step by
/// step.
package final class DatabaseEngine {
    package let name: String
    private(set) var storage: any ServerStorage
    /// Creates the file of a database that is still in memory, because it has nothing to keep yet; nil if it has its
    /// file.
    package var materialize: (() throws -> any ServerStorage)?
    /// Whether nobody waits any more for the work for a session, or, with nil, for any work. Called while a query runs.
    package var isAbandoned: @Sendable (SessionID?) -> Bool = { _ in false }
    /// Called when a file could not be opened because there are no descriptors left. The client will try again what
    /// needed the file.
    package var onTooManyFiles: () -> Void = {}
    let limits: Limits
    let log: LogSink?
    let random: () -> UInt64
    private let workerID: String?
    private var lastTrimmedVersion: UInt64 = 0
    private(set) var sessions: [SessionID: ServerSession] = [:]
    var views: [ObjectID: SharedView] = [:]
    var index: ViewIndex
    var shapes: ViewShapes
    var automaticIndexes: AutomaticIndexes
    var hasFoundIndexes = false
    /// The subscriptions that are sent pages.
    var bootstrapping: [ViewSubscription] = []
    var pageCache: PageCache
    var turn: Turn
    var starting = StartQueue()
    var preparing: Preparing?
    /// The preparation that nobody has taken yet.
    var handedOut: QueryPreparation?
    var replays: ReplayCache
    /// What keeps the database from being written.
    var obstacle: WriteObstacle
    private var uploads: [Upload] = []
    private var uploadOperationCount = 0
    /// Short-lived clients that have closed their sessions.
    private var departed: [UInt64] = []
    private var expiry = ClientExpiry()
    var hasLoggedDamage = false
    var rounds: DigestRounds
    var actions: [DatabaseAction] = []
    package internal(set) var statistics = DatabaseStatistics()

    /// - Parameters:
    ///   - workerID: the name of this server process in change events.
    ///   - random: makes random numbers for nonces and ids.
    package init(
        name: String, storage: any ServerStorage, workerID: String? = nil, limits: Limits = Limits(),
        log: LogSink? = nil, random: @escaping () -> UInt64
    ) {
        self.name = name
        self.storage = storage
        obstacle = storage.obstacle.map { .sinceOpened($0) } ?? .none
        self.limits = limits
        self.log = log
        self.random = random
        self.workerID = workerID
        index = ViewIndex(schema: storage.schema)
        shapes = ViewShapes(schema: storage.schema)
        automaticIndexes = AutomaticIndexes(limits: limits.automaticIndexes)
        turn = Turn(stepCountMax: limits.turnStepCountMax, shareMax: limits.shareStepCountMax)
        rounds = DigestRounds(interval: limits.digestInterval, roundTime: limits.digestRoundTime)
        pageCache = PageCache(
            byteCountMax: limits.sharedPageByteCount, idleCountMax: limits.idlePageRunCount,
            idleTime: limits.idlePageRunTime)
        replays = ReplayCache(objectCountMax: 2 * limits.replayObjectCountMax)
    }

    /// Handles a batch of events, and commits their uploads together.
    package func handle(_ events: [DatabaseEvent], now: Timestamp) -> [DatabaseAction] {
        beginTurn()
        for event in events {
            switch event {
            case .open(let id, let open, let user):
                flush(now: now)
                self.open(id, open, user: user, now: now)
            case .messages(let id, let messages):
                receive(messages, from: id, now: now)
            case .closed(let id):
                flush(now: now)
                close(id)
            case .prepared(let preparation):
                flush(now: now)
                finish(preparation, now: now)
            }
        }
        flush(now: now)
        forgetDeparted()
        endAllIfVanished()
        return takeActions()
    }

    /// Whether the database has neither sessions nor work.
    package var isIdle: Bool { sessions.isEmpty && !hasWork && preparing == nil }

    /// Why the database can no longer be used, because its file vanished; nil while it can. Every session was told so.
    /// The database must then be closed, and is opened again for the next session.
    package var failure: StorageError? { storage.failure }

    /// Checks that the database's file is still where it was opened, and ends every session if it is not.
    package func checkFile() -> [DatabaseAction] {
        try? storage.checkFile()
        endAllIfVanished()
        probeObstacle()
        return takeActions()
    }

    /// Whether the database is to be closed, and opened again for the next session.
    package var mustReopen: Bool {
        if case .overcome = obstacle { return true }
        return failure != nil
    }

    private func endAllIfVanished() {
        guard let failure, !sessions.isEmpty else { return }
        log?(.error, "a database vanished", [("database", name), ("error", "\(failure)")])
        let message = unusable(because: failure)
        for id in sessions.keys.sorted() {
            if let session = sessions[id] { end(session, .internalError, message, action: .retry) }
        }
    }

    /// Whether ``step(now:)`` has anything to do.
    package var hasWork: Bool { starting.hasStarts || hasCostlyWork || bootstrapping.contains(where: \.canTakePage) }

    /// Does one turn of the waiting work: starts subscriptions, begins costly queries beside the queue, and sends pages
    /// to clients that have credit.
    package func step(now: Timestamp) -> [DatabaseAction] {
        beginTurn()
        startWaiting(now: now)
        prepareNext(now: now)
        sendPages(now: now)
        endAllIfVanished()
        return takeActions()
    }

    /// Returns work to run beside the database's queue, which must then be given back with
    /// ``DatabaseEvent/prepared(_:)``; nil if there is none, or if it was taken already.
    package func takePreparation() -> QueryPreparation? {
        defer { handedOut = nil }
        return handedOut
    }

    private func beginTurn() {
        turn = Turn(stepCountMax: limits.turnStepCountMax, shareMax: limits.shareStepCountMax)
    }

    /// Does a bounded amount of maintenance: creates or drops an index, forgets expired clients, and drops log entries
    /// that are no longer kept for returning clients.
    package func performMaintenance(now: Timestamp) {
        pageCache.dropIdle(now: now)
        guard storage.damage == nil, obstacle.error == nil else { return }
        keepIndexes(now: now)
        expireClients(now: now)
        guard storage.version >= lastTrimmedVersion + 10_000 else { return }
        lastTrimmedVersion = storage.version
        do {
            try storage.trimLog(
                keepingVersions: limits.logVersionCount, keepingBytes: limits.logByteCount, entriesMax: 20_000)
        } catch {
            noteFailure("the log could not be trimmed", error)
        }
    }

    private func expireClients(now: Timestamp) {
        do {
            let count = try expiry.step(
                storage, connected: sessions.values.compactMap(\.clientID), retention: limits.clientRetention, now: now)
            guard count > 0 else { return }
            log?(.info, "clients that were away for long were forgotten", [("database", name), ("count", "\(count)")])
        } catch {
            noteFailure("clients could not be forgotten", error)
        }
    }

    /// Removes the records of short-lived clients. A record that stays because of an error expires like that of any
    /// client.
    private func forgetDeparted() {
        guard !departed.isEmpty else { return }
        let clients = departed
        departed = []
        guard storage.damage == nil, obstacle.error == nil else { return }
        do {
            try transaction { for client in clients { try storage.removeClient(client) } }
        } catch {
            noteFailure("clients could not be forgotten", error)
        }
    }

    /// Closes the database's file. The engine cannot be used after that.
    package func close() {
        if storage.damage == nil, storage.obstacle == nil {
            do { try storage.checkpoint(truncating: true) } catch {
                noteFailure("the database could not be tidied up", error, at: .warning)
            }
        }
        storage.close()
    }

    /// Creates the database's file, now that there is something to keep.
    func becomeDurable() throws {
        guard let materialize else { return }
        storage = try materialize()
        self.materialize = nil
    }

    func takeActions() -> [DatabaseAction] {
        defer { actions = [] }
        return actions
    }

    func add(_ session: ServerSession) { sessions[session.id] = session }

    private func close(_ id: SessionID) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        starting.removeAll(of: id)
        cancelPreparation(of: id)
        for subscription in session.subscriptions.values { remove(subscription) }
    }

    /// Ends a session on the server's initiative.
    func end(_ session: ServerSession, _ code: ErrorCode, _ message: String, action: ErrorAction) {
        guard sessions[session.id] != nil else { return }
        send(
            [.error(.init(session: session.id.session, code: code, message: message, action: action))],
            to: session.id)
        close(session.id)
        actions.append(.end(session.id))
    }

    func send(_ messages: [ServerMessage], to id: SessionID) {
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        actions.append(.send(frame.finish(), to: id.connection))
    }

    /// Runs `body`. A storage error ends this session and affects nothing else. The client tries again, unless the
    /// database is damaged.
    func guardingStorage(_ session: ServerSession, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            noteFailure("a request failed", error)
            end(session, because: error)
        }
    }

    private func receive(_ messages: [ClientMessage], from id: SessionID, now: Timestamp) {
        var resumed = Resumption(byteCountLeft: limits.frameByteCount)
        for message in messages {
            guard let session = sessions[id] else { return }
            confirmNonce(of: session)
            if case .upload(_, let changesets) = message {
                enqueue(changesets, from: session, now: now)
                continue
            }
            flush(now: now)
            switch message {
            case .subscribe(let request):
                guardingStorage(session) { try subscribe(request, session: session, with: &resumed, now: now) }
            case .unsubscribe(_, let subscription):
                starting.remove(subscription, of: id)
                cancelPreparation(of: id, subscription: subscription)
                if let ended = session.subscriptions.removeValue(forKey: subscription) { remove(ended) }
            case .credit(_, let pages):
                session.pageCredit += min(pages, limits.server.pageCreditMax - session.pageCredit)
            case .members(let members):
                guardingStorage(session) { try compare(members, session: session) }
            case .reportRequest(let request):
                report(request, session: session)
            case .close:
                if session.isShortLived, let clientID = session.clientID { departed.append(clientID) }
                close(id)
            case .declare(_, let schema):
                declare(schema, session: session)
            case .remove(let removal):
                remove(removal, session: session)
            case .hello, .open, .authenticate, .upload:
                end(session, .protocolViolation, "this message does not belong in an open session", action: .stop)
            }
        }
        guard let session = sessions[id] else { return }
        send(resumed, to: session)
    }

    /// Sends what brings a client up to date in one frame, so that the client moves to the new version once, with all
    /// subscriptions that it resumed.
    func send(_ resumed: Resumption, to session: ServerSession) {
        guard sessions[session.id] === session else { return }
        if !resumed.messages.isEmpty { send(resumed.messages, to: session.id) }
        if !resumed.inquiries.isEmpty { send(resumed.inquiries, to: session.id) }
    }

    private func enqueue(_ changesets: [Changeset], from session: ServerSession, now: Timestamp) {
        if let damage = storage.damage, !session.isReadOnly { return refuseUploads(of: session, because: damage) }
        if let error = obstacle.error, !session.isReadOnly, session.isHeldBack || storage.obstacle != nil {
            return holdBack(session, because: error)
        }
        guard !session.isHeldBack else { return }
        guard let clientID = session.clientID else {
            return end(session, .protocolViolation, "a read-only session cannot upload", action: .stop)
        }
        for changeset in changesets {
            // A client with a new identity continues the numbers of its old one.
            let received = session.receivedSequence
            guard received == 0 || changeset.sequence <= received || changeset.sequence - received == 1 else {
                let message = "upload \(changeset.sequence) arrived, and \(received + 1) is missing"
                return end(session, .protocolViolation, message, action: .retry)
            }
            session.receivedSequence = max(session.receivedSequence, changeset.sequence)
            var changeset = changeset
            // Timestamps of a client must not descend; otherwise every merge would search all writes.
            changeset.timestamp = max(changeset.timestamp, session.lastTimestamp)
            session.lastTimestamp = changeset.timestamp
            var upload = Upload(
                session: session.id, clientID: clientID, userID: session.user.id, changeset: changeset)
            upload.problem = changeset.problem.map { .init(code: .invalidOperation, message: $0) }
            uploads.append(upload)
            uploadOperationCount += changeset.operations.count
            if let problem = changeset.problem {
                // Where the next one begins is not known, so what the client sent after it has to come again.
                flush(now: now)
                guard sessions[session.id] === session else { return }
                return end(session, .protocolViolation, problem, action: .retry)
            }
            if uploadOperationCount >= limits.groupOperationCountMax { flush(now: now) }
        }
    }

    /// Commits the uploads gathered so far, and sends the result to all sessions concerned.
    private func flush(now: Timestamp) {
        guard !uploads.isEmpty else { return }
        let group = uploads
        uploads = []
        uploadOperationCount = 0
        do {
            try becomeDurable()
            let pipeline = CommitPipeline(
                storage: storage, workerID: workerID, operationCountMax: Int(limits.server.operationCountMax),
                limits: limits.data)
            let committed = try pipeline.commit(group, now: now)
            statistics.note(committed)
            publish(committed)
            noteCommit()
        } catch let error as StorageError where noteObstacle(error) {
            for id in Set(group.map(\.session)) {
                if let session = sessions[id] { holdBack(session, because: error) }
            }
        } catch {
            noteFailure("a group of uploads was not stored", error)
            for session in Set(group.map(\.session)).sorted().compactMap({ sessions[$0] }) {
                if let damage = storage.damage {
                    refuseUploads(of: session, because: damage)
                } else {
                    let message = Self.sentence(
                        "the server could not store the upload, which will be sent again", of: name, because: error)
                    end(session, because: error, message)
                }
            }
        }
    }
}
