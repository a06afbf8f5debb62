import FoundationEssentials
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceTesting

/// One process of the simulated server: an engine with its file of the database, and what it reads beside its own work.
final class SimulatedNode {
    /// Its place among the nodes.
    let number: Int
    /// Where it stood when it last sent something; all that it sends next it has made since.
    var sentHead: JournalHead
    /// How far its clock is from that of the simulation, in microseconds.
    private let clockOffset: Int64
    /// The database's file; nil for one in memory.
    private(set) var path: String?
    /// Whether it has groups that the journal has lost, and others in their place.
    var isStale = false
    /// Whether it does not follow the journal unless it appends to it.
    var isLagging = false
    /// The folder of replicas that were made of snapshots; nil before the first.
    private var folder: String?
    private var replicaCount = 0
    /// How it reaches the journal that the nodes share; nil for one node with a journal of its own.
    let journal: MemoryJournal?
    private(set) var storage: SQLiteServerStorage
    private(set) var engine: DatabaseEngine
    private let makeEngine: (SQLiteServerStorage) -> DatabaseEngine
    /// The query that the engine wants to prepare beside its own work. It reads the state at the time of the request,
    /// and runs in a later step.
    private var preparation: QueryPreparation?
    /// Pages that are to be read in later steps, as of the time of the request.
    private var readings: [QueryPreparation] = []
    /// The question to a journal that did not answer.
    private var retry: JournalRetry?
    private var stepCount = 0
    private var startsOfEarlierLives = StartCounts()
    private var sharedPagesOfEarlierLives = SharedPageCounts()

    init(
        _ number: Int, path: String?, _ journal: MemoryJournal?, clockOffset: Int64,
        _ makeEngine: @escaping (SQLiteServerStorage) -> DatabaseEngine
    ) throws {
        self.number = number
        self.clockOffset = clockOffset
        self.path = path
        self.journal = journal
        self.makeEngine = makeEngine
        storage = try Self.open(path)
        sentHead = storage.head
        engine = makeEngine(storage)
    }

    private static func open(_ path: String?) throws -> SQLiteServerStorage {
        let storage = try SQLiteServerStorage.open(
            path.map { .file($0) } ?? .memory, databaseID: SimulatedServer.databaseID)
        storage.heldElementCountMin = 1
        return storage
    }

    /// How subscriptions were started, counted over all lives of the process.
    var starts: StartCounts { startsOfEarlierLives + engine.statistics.starts }

    /// The work for pages that clients share.
    var sharedPages: SharedPageCounts {
        var counts = sharedPagesOfEarlierLives
        counts += engine.statistics.sharedPages
        return counts
    }

    var parts: [AnyObject] { [engine, storage as AnyObject] + engine.views }

    /// Whether the journal did not answer, and was not asked again since.
    var isWaitingForJournal: Bool { retry != nil }

    var hasWork: Bool {
        retry != nil || preparation != nil || !readings.isEmpty || engine.hasWork || engine.isJudgingCached
    }

    /// What its clock says.
    func time(at now: Timestamp) -> Timestamp { Timestamp(microseconds: now.microseconds + clockOffset) }

    func handle(_ events: [DatabaseEvent], now: Timestamp) -> [DatabaseAction] {
        let now = time(at: now)
        let actions = events.isEmpty ? [] : engine.handle(events, now: now)
        let checks = engine.checkSessions(now: now)
        takeReadings()
        return actions + checks
    }

    /// Does one turn of the engine's own work, or runs a preparation.
    func step(now: Timestamp) -> [DatabaseAction] {
        if let retry {
            self.retry = nil
            retry.run()
            return handle([.journalAsked(retry)], now: now)
        }
        if let preparation {
            self.preparation = nil
            preparation.run()
            defer { takeReadings() }
            return engine.handle([.prepared(preparation)], now: time(at: now))
        }
        stepCount += 1
        if stepCount % 3 == 0 || !engine.hasWork, !readings.isEmpty {
            let reading = readings.remove(at: stepCount / 3 % readings.count)
            reading.run()
            defer { takeReadings() }
            return engine.handle([.prepared(reading)], now: time(at: now))
        }
        let actions = engine.step(now: time(at: now))
        preparation = engine.takePreparation()
        takeReadings()
        return actions
    }

    private func takeReadings() {
        while let reading = engine.takeReading() { readings.append(reading) }
        if let next = engine.takeRetry() { retry = next }
    }

    /// Loses everything that is not stored, and starts again.
    ///
    /// - Parameter body: what happens while the process is down.
    func restart(_ body: () throws -> Void) throws {
        endLife()
        if path != nil {
            storage.close()
            try body()
            storage = try Self.open(path)
        }
        beginLife()
    }

    private func beginLife() {
        engine = makeEngine(storage)
        engine.loadRules()
        sentHead = storage.head
    }

    private func endLife() {
        preparation = nil
        readings = []
        retry = nil
        startsOfEarlierLives += engine.statistics.starts
        sharedPagesOfEarlierLives += engine.statistics.sharedPages
    }

    /// Leaves the replica that it has for a new one.
    ///
    /// - Parameter snapshot: what it begins with; nil for nothing.
    func beginAnew(with snapshot: SimulatedSnapshot?) throws {
        let folder = folder ?? "/dev/shm/sluice-node-\(UUID().uuidString)"
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        replicaCount += 1
        endLife()
        storage.close()
        let replica = "\(folder)/\(replicaCount).sluicedb"
        try snapshot?.copy(to: replica)
        if path != nil || snapshot != nil { path = replica }
        storage = try Self.open(path)
        beginLife()
        isStale = false
    }

    deinit { if let folder { try? FileManager.default.removeItem(atPath: folder) } }
}
