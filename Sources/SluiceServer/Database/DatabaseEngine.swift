package import SluiceModel
internal import SluiceQuery
package import SluiceStorage
internal import SluiceViews
package import SluiceWire

/// One database's session logic, without threads, sockets or clocks: events in, actions out.
///
/// Uploads of one batch of events share a transaction; views are matched against what the whole group changed; what a
/// view's subscribers are sent is encoded once. Pages of bootstraps are sent between batches, a step at a time.
package final class DatabaseEngine {
    package struct Limits: Sendable {
        /// The most operations that share a transaction.
        package var groupOperationCountMax = 20_000
        /// Rows in a page, and objects in one part of a commit.
        package var pageRowCount = 2_000
        /// Bytes before compression, about, after which a page or a part of a commit takes no more objects.
        package var pageByteCount = 2 << 20
        /// The most bytes before compression, about, that several parts of a commit share a frame with, or that bring a
        /// returning client up to date. With the largest row on top a frame is still one that clients take.
        package var frameByteCount = 3 << 20
        /// The most changed objects that a returning client is told one by one; beyond that it starts anew.
        package var replayObjectCountMax = 20_000
        /// The most members that a client lists in one session at a time; with more it starts anew.
        package var comparedMemberCountMax = 500_000
        /// The most objects that commits touch behind the pages of one session's subscriptions; a client that takes its
        /// pages more slowly than that starts anew.
        package var touchedObjectCountMax = 500_000
        /// How often what commits touched is sent in pages that wait for credit; what they touched meanwhile then goes
        /// out at once.
        package var settlingRoundMax = 4
        /// The most members of a view whose digest is made, for clients that come back to check themselves by.
        package var digestObjectCountMax = 1_000
        /// How many steps a query may take to make a view, or to list its roots. A query that takes more than a share of a
        /// turn does so beside the writer, and nobody but other such queries waits for it.
        package var queryStepCountMax = 100_000_000
        /// How many steps are done in one turn to start subscriptions and to send pages, before what has come in
        /// meanwhile has its turn; what is begun is finished, so one object more.
        package var turnStepCountMax = 3_000_000
        /// How many of them are done for one session.
        package var shareStepCountMax = 1_000_000
        /// What one row costs that is sent, in steps.
        package var sentRowStepCount = 100
        /// How many steps the views of one session may take to follow a commit. A view that would take more ends.
        package var upkeepStepCountMax = 20_000_000
        /// How many steps a view may take in any case to follow a commit, whatever the session's others have taken.
        package var viewUpkeepStepCountMin = 10_000
        /// How many steps a returning client may take to be told what it missed; beyond that its subscription starts anew.
        package var resumeStepCountMax = 20_000_000
        /// The most roots that are listed for one session before it gets no further lists.
        package var listedRootCountMax = 1_000_000
        /// Versions and bytes of log that are kept for returning clients.
        package var logVersionCount: UInt64 = 1_000_000
        package var logByteCount = 256 << 20
        /// How long, in microseconds, between digests that are sent to running sessions, and between those of one view.
        package var digestInterval: Int64 = 1_000_000
        package var digestRoundTime: Int64 = 60_000_000
        /// The most members of a view whose digest is sent to running sessions.
        package var checkedObjectCountMax = 5_000
        /// A client that was away for so long, in microseconds, is forgotten once the log does not reach its version.
        package var clientRetention: Int64 = 90 * 86_400_000_000
        package var server = ServerLimits()
        package var automaticIndexes = AutomaticIndexes.Limits()

        package init() {}
    }

    package let name: String
    private(set) var storage: any ServerStorage
    /// Gives a database that lives in memory, since nothing had to be kept so far, its file.
    package var materialize: (() throws -> any ServerStorage)?
    /// Whether nobody waits any more for what is done for a session, or, with nil, for anything. Asked while a query runs.
    package var isAbandoned: @Sendable (SessionID?) -> Bool = { _ in false }
    /// Called when no file could be opened since there are no descriptors left; what needed one is tried again by its
    /// client.
    package var onTooManyFiles: () -> Void = {}
    let limits: Limits
    let log: LogSink?
    let random: () -> UInt64
    private let workerID: String?
    private var lastTrimmedVersion: UInt64 = 0
    private(set) var sessions: [SessionID: ServerSession] = [:]
    var views: [ObjectID: SharedView] = [:]
    var index = ViewIndex()
    var automaticIndexes: AutomaticIndexes
    var hasFoundIndexes = false
    var bootstrapping: [ViewSubscription] = []
    var turn: Turn
    var starting = StartQueue()
    var preparing: Preparing?
    /// What the page that is made at the moment has taken, and may take.
    var pageWork: WorkLimit?
    var pageStepCountMax = 0
    /// The preparation that nobody runs yet.
    var handedOut: QueryPreparation?
    var replays: ReplayCache
    private var uploads: [Upload] = []
    private var uploadOperationCount = 0
    /// Short-lived clients that have closed their sessions.
    private var departed: [UInt64] = []
    private var expiry = ClientExpiry()
    var rounds: DigestRounds
    var actions: [DatabaseAction] = []
    package internal(set) var statistics = DatabaseStatistics()

    /// - Parameters:
    ///   - workerID: how change events name this server process.
    ///   - random: for nonces and ids.
    package init(
        name: String, storage: any ServerStorage, workerID: String? = nil, limits: Limits = Limits(),
        log: LogSink? = nil, random: @escaping () -> UInt64
    ) {
        self.name = name
        self.storage = storage
        self.limits = limits
        self.log = log
        self.random = random
        self.workerID = workerID
        automaticIndexes = AutomaticIndexes(limits: limits.automaticIndexes)
        turn = Turn(stepCountMax: limits.turnStepCountMax, shareMax: limits.shareStepCountMax)
        rounds = DigestRounds(interval: limits.digestInterval, roundTime: limits.digestRoundTime)
        replays = ReplayCache(objectCountMax: 2 * limits.replayObjectCountMax)
    }

    /// Handles a batch of events; uploads in it are committed together.
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

    /// Whether nobody uses the database.
    package var isIdle: Bool { sessions.isEmpty && !hasWork && preparing == nil }

    /// Notes why something failed that its client will try again.
    func noteFailure(_ error: any Error) {
        if (error as? StorageError)?.code == .tooManyFiles { onTooManyFiles() }
    }

    /// Why the database can no longer be used: its file vanished. Every session was told; it is to be closed then, and
    /// opened again for the next session.
    package var failure: StorageError? { storage.failure }

    /// Looks whether the database's file is still where it was opened; if it is not, ends every session.
    package func checkFile() -> [DatabaseAction] {
        try? storage.checkFile()
        endAllIfVanished()
        return takeActions()
    }

    private func endAllIfVanished() {
        guard let failure, !sessions.isEmpty else { return }
        log?(.error, "a database vanished", [("database", name), ("error", "\(failure)")])
        let message = Self.unusable(because: failure)
        for id in sessions.keys.sorted() {
            if let session = sessions[id] { end(session, .internalError, message, action: .retry) }
        }
    }

    /// Whether ``step(now:)`` has anything to do.
    package var hasWork: Bool { starting.hasStarts || hasCostlyWork || bootstrapping.contains(where: \.canTakePage) }

    /// Does one turn's worth of what waits: starts subscriptions, begins costly work beside the queue, and sends pages to
    /// clients that can take them.
    package func step(now: Timestamp) -> [DatabaseAction] {
        beginTurn()
        startWaiting(now: now)
        prepareNext(now: now)
        sendPages(now: now)
        endAllIfVanished()
        return takeActions()
    }

    /// What is to be run beside the database's queue, and given back with ``DatabaseEvent/prepared(_:)``; nil if there is
    /// nothing, or it was taken already.
    package func takePreparation() -> QueryPreparation? {
        defer { handedOut = nil }
        return handedOut
    }

    private func beginTurn() {
        turn = Turn(stepCountMax: limits.turnStepCountMax, shareMax: limits.shareStepCountMax)
    }

    /// Does a bounded amount of what can wait: makes or drops an index, and drops log entries beyond what is kept for
    /// returning clients.
    package func performMaintenance(now: Timestamp) {
        keepIndexes(now: now)
        expireClients(now: now)
        guard storage.version >= lastTrimmedVersion + 10_000 else { return }
        lastTrimmedVersion = storage.version
        do {
            try storage.trimLog(
                keepingVersions: limits.logVersionCount, keepingBytes: limits.logByteCount, entriesMax: 20_000)
        } catch {
            log?(.error, "the log could not be trimmed", [("database", name), ("error", "\(error)")])
        }
    }

    private func expireClients(now: Timestamp) {
        do {
            let count = try expiry.step(
                storage, connected: sessions.values.compactMap(\.clientID), retention: limits.clientRetention, now: now)
            guard count > 0 else { return }
            log?(.info, "clients that were away for long were forgotten", [("database", name), ("count", "\(count)")])
        } catch {
            log?(.error, "clients could not be forgotten", [("database", name), ("error", "\(error)")])
        }
    }

    /// Forgets short-lived clients. One that stays known for an error is forgotten with those that were away for long.
    private func forgetDeparted() {
        guard !departed.isEmpty else { return }
        let clients = departed
        departed = []
        do {
            try transaction { for client in clients { try storage.removeClient(client) } }
        } catch {
            log?(.error, "clients could not be forgotten", [("database", name), ("error", "\(error)")])
        }
    }

    /// Closes the database's file; nothing may be asked of the engine after.
    package func close() {
        do { try storage.checkpoint(truncating: true) } catch {
            log?(.warning, "the database could not be tidied up", [("database", name), ("error", "\(error)")])
        }
        storage.close()
    }

    /// Gives the database its file, now that there is something to be kept.
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

    /// Ends a session from this side.
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

    /// Runs `body`; an error of the store ends the session with a transient error and leaves everything else alone.
    func guardingStorage(_ session: ServerSession, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            log?(.error, "a request failed", [("database", name), ("error", "\(error)")])
            noteFailure(error)
            end(session, .internalError, Self.unusable(because: error), action: .retry)
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
                report(request, session: session, now: now)
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

    /// Sends what brings a client up to date in one frame, so that it steps to the new version once, with everything that
    /// it resumed.
    func send(_ resumed: Resumption, to session: ServerSession) {
        guard sessions[session.id] === session else { return }
        if !resumed.messages.isEmpty { send(resumed.messages, to: session.id) }
        if !resumed.inquiries.isEmpty { send(resumed.inquiries, to: session.id) }
    }

    private func enqueue(_ changesets: [Changeset], from session: ServerSession, now: Timestamp) {
        guard let clientID = session.clientID else {
            return end(session, .protocolViolation, "a read-only session cannot upload", action: .stop)
        }
        for changeset in changesets {
            // A client with a new identity goes on with the numbers of its old one.
            let received = session.receivedSequence
            guard received == 0 || changeset.sequence <= received || changeset.sequence - received == 1 else {
                let message = "upload \(changeset.sequence) arrived, and \(received + 1) is missing"
                return end(session, .protocolViolation, message, action: .retry)
            }
            session.receivedSequence = max(session.receivedSequence, changeset.sequence)
            var changeset = changeset
            // A clock that runs backwards would make every merge look at every write.
            changeset.timestamp = max(changeset.timestamp, session.lastTimestamp)
            session.lastTimestamp = changeset.timestamp
            uploads.append(
                Upload(session: session.id, clientID: clientID, userID: session.user.id, changeset: changeset))
            uploadOperationCount += changeset.operations.count
            if uploadOperationCount >= limits.groupOperationCountMax { flush(now: now) }
        }
    }

    /// Commits the uploads gathered so far and tells everyone concerned.
    private func flush(now: Timestamp) {
        guard !uploads.isEmpty else { return }
        let group = uploads
        uploads = []
        uploadOperationCount = 0
        do {
            try becomeDurable()
            let committed = try CommitPipeline(
                storage: storage, workerID: workerID, operationCountMax: Int(limits.server.operationCountMax)
            ).commit(group, now: now)
            statistics.note(committed)
            publish(committed)
        } catch {
            log?(.error, "a group of uploads was not stored", [("database", name), ("error", "\(error)")])
            noteFailure(error)
            for id in Set(group.map(\.session)) {
                guard let session = sessions[id] else { continue }
                let message = Self.sentence(
                    "the server could not store the upload, which will be sent again", because: error)
                end(session, .internalError, message, action: .retry)
            }
        }
    }
}
