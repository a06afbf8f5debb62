internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// A database as its worker has it: opened when a session or work of this process asks for it, closed when nobody uses it
/// or its file has vanished, and then opened again by the next.
///
/// Only code on the worker's queue uses it.
final class HostedDatabase: @unchecked Sendable {
    // Sound because every access goes through the queue.

    /// What has become of the events of a turn.
    enum Opening {
        /// They are handled, if the database is open.
        ///
        /// - since: when the oldest of them came.
        /// - refusals: tell the sessions among them that the database could not be opened.
        case ready([DatabaseEvent], since: Int64?, refusals: [DatabaseAction] = [])
        /// They wait until other databases are closed, because file descriptors have run out.
        case postponed
    }

    private let name: String
    private let makeEngine: @Sendable (_ mayMake: Bool) throws -> DatabaseEngine
    /// Whether a session may make the database, if there is none of the name.
    private let mayMake: @Sendable (ClientMessage.Open, User) -> Bool
    private let log: LogSink?
    private(set) var engine: DatabaseEngine?
    /// Why the last attempt to open it failed. It is logged only when it changes.
    private(set) var failure = ""
    private var postponed: [DatabaseEvent] = []
    /// When the oldest of them came.
    private var postponedSince: Int64?
    /// What the databases have done that were open before.
    private var past = DatabaseSample()
    private var eventLag = DurationHistogram()
    /// The version of the database up to which clients were told.
    private var publishedVersion: UInt64 = 0
    /// When the engine last handled an event.
    var usedAt = Timestamp(microseconds: 0)
    /// Whether the queue will look for steps that wait to be stored.
    private var waitsForSteps = false
    /// When the queue will look next whether time has changed results; nil if it will not.
    private var waitsForTime: Timestamp?
    /// Called with an engine that was just made.
    var onOpen: (DatabaseEngine) -> Void = { _ in }

    init(
        _ name: String, log: LogSink?, mayMake: @escaping @Sendable (ClientMessage.Open, User) -> Bool,
        makeEngine: @escaping @Sendable (_ mayMake: Bool) throws -> DatabaseEngine
    ) {
        self.name = name
        self.log = log
        self.mayMake = mayMake
        self.makeEngine = makeEngine
    }

    /// Whether nothing is lost if another worker has the database from now on: a failure that is known is not logged again.
    var isForgettable: Bool { postponed.isEmpty && failure.isEmpty }

    /// What the database is and has done.
    var sample: DatabaseSample {
        var sample = engine.map { DatabaseSample($0) } ?? DatabaseSample()
        sample += past
        sample.eventLag += eventLag
        return sample
    }

    /// Notes how long the oldest event of a turn has waited that has committed something.
    func noteLag(_ nanoseconds: Int64) { eventLag.note(nanoseconds) }

    /// The moment up to which clients were told, as they are told of what came after it.
    func takeMoment() -> DatabaseMoment {
        let moment = DatabaseMoment(database: name, version: publishedVersion)
        if let engine { publishedVersion = engine.version }
        return moment
    }

    /// Opens the database if a session among the events asks for it.
    ///
    /// - Parameters:
    ///   - taken: the events of a turn, which follow those that were postponed.
    ///   - since: when the oldest of them came.
    func open(for taken: [DatabaseEvent], since: Int64?) -> Opening {
        let events = postponed + taken
        let oldest = [postponedSince, since].compactMap(\.self).min()
        let hasMadeRoom = !postponed.isEmpty
        (postponed, postponedSince) = ([], nil)
        if engine != nil { return .ready(events, since: oldest) }
        var sessions: [(id: SessionID, takesExistingOnly: Bool)] = []
        var isMade = false
        for case .open(let id, let request, let user, _) in events {
            sessions.append((id, request.options.contains(.existing)))
            isMade = isMade || mayMake(request, user)
        }
        guard !sessions.isEmpty else { return .ready(events, since: oldest) }
        do {
            _ = try opened(mayMake: isMade)
            return .ready(events, since: oldest)
        } catch {
            note(error)
            if !hasMadeRoom, (error as? StorageError)?.code == .tooManyFiles {
                (postponed, postponedSince) = (events, oldest)
                return .postponed
            }
            let refusals = sessions.flatMap { session in
                let (code, action, message) = Consequence.ofOpening(
                    name, error, takesExistingOnly: session.takesExistingOnly)
                return Self.refusal(of: session.id, code, message, action)
            }
            return .ready(events, since: oldest, refusals: refusals)
        }
    }

    /// The engine, which is made if the database is not open.
    ///
    /// - Parameter mayMake: whether the database may be made, if there is none of the name.
    func opened(mayMake: Bool) throws -> DatabaseEngine {
        if let engine { return engine }
        let made = try makeEngine(mayMake)
        engine = made
        failure = ""
        publishedVersion = made.version
        onOpen(made)
        return made
    }

    private func note(_ error: any Error) {
        // Anybody may ask for a database that is not there.
        guard (error as? StorageError)?.code != .notFound else { return }
        let isNew = failure != "\(error)"
        failure = "\(error)"
        log?(isNew ? .error : .debug, "a database could not be opened", [("database", name), ("error", "\(error)")])
    }

    private static func refusal(
        of id: SessionID, _ code: ErrorCode, _ message: String, _ action: ErrorAction
    ) -> [DatabaseAction] {
        let failure = ServerMessage.Failure(
            session: id.session, code: code, message: message, action: action,
            retryAfter: code == .unknownDatabase && action == .retry ? 5_000 : 0)
        return [.send(Frame.encode(ServerMessage.error(failure)), to: id.connection), .end(id, reason: message)]
    }

    // MARK: Waiting for the clock

    /// Begins to wait until steps are due for which no client waits.
    ///
    /// - Returns: false if there are none, or the queue waits already.
    func beginWaitForSteps() -> Bool {
        guard !waitsForSteps, engine?.committer.hasSteps == true else { return false }
        waitsForSteps = true
        return true
    }

    func endWaitForSteps() { waitsForSteps = false }

    /// Begins to wait for the time that changes the results of a query.
    ///
    /// - Returns: nil if there is none, or the queue waits for one that is not later.
    func beginWaitForTime() -> Timestamp? {
        guard let next = engine?.nextTick, waitsForTime.map({ next < $0 }) ?? true else { return nil }
        waitsForTime = next
        return next
    }

    func endWaitForTime(_ time: Timestamp) { if waitsForTime == time { waitsForTime = nil } }

    // MARK: Closing

    /// Closes the database. The next session opens it again.
    ///
    /// - Parameter now: when what waits to be stored is stored; nil to drop that.
    func close(now: Timestamp?) {
        engine?.close(now: now)
        forget()
    }

    /// Closes the database as the end of the process does.
    func abandon() {
        engine?.abandon()
        forget()
    }

    /// Closes the database if its file has vanished. The next session opens the file that is there then.
    func dropIfVanished() { if engine?.mustReopen == true { close(now: nil) } }

    /// Lets go of an engine that is closed, and keeps what it has done.
    private func forget() {
        if let engine { past.statistics += engine.statistics }
        engine = nil
    }
}
