package import SluiceModel
package import SluiceStorage
internal import Synchronization

/// The journals of several servers of one process, in memory, as one of the servers reaches them. Any thread may use it.
package final class MemoryJournals: JournalService {
    private enum Phase {
        case answers
        /// Nothing that is asked or appended gets an answer.
        case silent
        /// The server is gone; nothing is appended any more.
        case stopped
    }

    private struct State {
        var phase = Phase.answers {
            didSet { silentSince = phase == .answers ? nil : silentSince ?? .now }
        }
        var silentSince: ContinuousClock.Instant?
        /// What the server has opened, by database; a database may be opened again.
        var journals: [String: [WeakJournal]] = [:]
        var hear: (@Sendable (JournalNews) -> Void)?
        var nodeURL: String?

        func set(_ faults: [MemoryJournal.Fault]) {
            for journal in journals.values.joined() { journal.journal?.faults = faults }
        }
    }

    private let shared: SharedJournals
    private let number: UInt64
    private let state = Mutex(State())
    /// Where clients reach the server; nil if it has not said so, or stops.
    package var nodeURL: String? {
        get { state.withLock { $0.nodeURL } }
        set { state.withLock { $0.nodeURL = newValue } }
    }

    /// Makes journals for a first server.
    ///
    /// - Parameters:
    ///   - now: the clock of duties; one that stands still lets nobody lose any.
    ///   - random: makes random numbers for the ids of databases and epochs.
    package convenience init(
        now: @escaping @Sendable () -> Timestamp = { Timestamp(microseconds: 0) },
        random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    ) { self.init(SharedJournals(now: now, random: random)) }

    private init(_ shared: SharedJournals) {
        self.shared = shared
        number = shared.nextNumber()
        shared.add(self)
    }

    /// The same journals as another server reaches them.
    package func another() -> MemoryJournals { MemoryJournals(shared) }

    package var clusterID: String { shared.clusterID }

    package var clockOffset: Int64 { 0 }

    package var silence: Duration { state.withLock { $0.silentSince.map { .now - $0 } ?? .zero } }

    package var heardPositions: [String: UInt64] {
        guard state.withLock({ $0.phase == .answers }) else { return [:] }
        return Dictionary(uniqueKeysWithValues: shared.names.map { ($0, shared.journal(ofDatabase: $0).head.position) })
    }

    package func journal(ofDatabase name: String) throws -> any Journal {
        let root = shared.journal(ofDatabase: name)
        let journal = root.another { [weak self, shared] in shared.tell(.grew(database: name), besides: self) }
        return try state.withLock { state in
            guard state.phase == .answers else { throw StorageError(.busy, "the journal does not answer") }
            state.journals[name, default: []].removeAll { $0.journal == nil }
            state.journals[name, default: []].append(WeakJournal(journal))
            return journal
        }
    }

    package var duties: any DutyService {
        MemoryDuties(shared.duties, server: number) { [weak self] in self?.answers ?? false }
    }

    package var snapshots: any SnapshotService { MemorySnapshots(shared.snapshots, server: name, journals: self) }

    private var answers: Bool { state.withLock { $0.phase == .answers } }

    /// - Throws: ``StorageError/Code/busy`` while nothing is answered.
    func checkItAnswers() throws {
        guard answers else { throw StorageError(.busy, "the journal does not answer") }
    }

    /// The journal of a database as nobody in particular reaches it.
    package func root(ofDatabase name: String) -> MemoryJournal { shared.journal(ofDatabase: name) }

    /// The servers that have a database open and reach the journals.
    func servers(ofDatabase name: String) -> Set<String> { shared.servers(ofDatabase: name) }

    /// Changes a byte of a snapshot.
    package func damage(_ snapshot: Snapshot) { shared.snapshots.damage(snapshot) }

    /// Tells all servers that an upkeep of a database is asked for.
    func tellOfRequest(ofDatabase name: String) { shared.tell(.upkeepRequested(database: name), besides: nil) }

    fileprivate var name: String { "server-\(number)" }

    fileprivate func hasOpen(_ database: String) -> Bool {
        state.withLock { state in
            state.phase == .answers && state.journals[database]?.contains { $0.journal != nil } ?? false
        }
    }

    package func watch(_ hear: @escaping @Sendable (JournalNews) -> Void) { state.withLock { $0.hear = hear } }

    package func leave() -> String? {
        nodeURL = nil
        return shared.nodeURL
    }

    package func stop() {
        state.withLock { state in
            state.phase = .stopped
            state.hear = nil
            state.nodeURL = nil
            state.set([.silent])
        }
    }

    /// Makes the journals answer this server, or not.
    package func setAnswers(_ answers: Bool) {
        let hear = state.withLock { state in
            guard state.phase != .stopped else { return nil as (@Sendable (JournalNews) -> Void)? }
            state.phase = answers ? .answers : .silent
            state.set(answers ? [] : [.silent])
            return answers ? state.hear : nil
        }
        // As a watch that is connected again.
        if let hear { for name in shared.names { hear(.grew(database: name)) } }
    }

    /// Loses the answer to the next append of this server to a database, which the journal takes, and answers nothing
    /// from then on.
    package func loseNextAnswer() {
        state.withLock { state in
            guard state.phase == .answers else { return }
            state.phase = .silent
            state.set([.losesAnswer, .silent])
        }
    }

    /// Begins another history in each journal, see ``MemoryJournal/fork(losing:epoch:)``.
    package func fork(losing count: Int) throws { try shared.fork(losing: count) }

    fileprivate func tell(_ news: JournalNews) {
        let hear = state.withLock { $0.phase == .answers ? $0.hear : nil }
        hear?(news)
    }
}

private struct WeakJournal {
    weak var journal: MemoryJournal?

    init(_ journal: MemoryJournal) { self.journal = journal }
}

/// What all servers share.
private final class SharedJournals: Sendable {
    private struct State {
        var journals: [String: MemoryJournal] = [:]
        var services: [WeakService] = []
        var count: UInt64 = 0
    }

    private struct WeakService {
        weak var service: MemoryJournals?
    }

    let clusterID: String
    let duties: SharedDuties
    let snapshots = SharedSnapshots()
    private let random: @Sendable () -> UInt64
    private let state = Mutex(State())

    init(now: @escaping @Sendable () -> Timestamp, random: @escaping @Sendable () -> UInt64) {
        duties = SharedDuties(now: now)
        self.random = random
        clusterID = "\(ObjectID(high: random(), low: random()))"
    }

    var names: [String] { state.withLock { $0.journals.keys.sorted() } }

    /// Where clients reach a server.
    var nodeURL: String? { state.withLock { $0.services }.lazy.compactMap { $0.service?.nodeURL }.first }

    func add(_ service: MemoryJournals) {
        state.withLock { state in
            state.services.removeAll { $0.service == nil }
            state.services.append(WeakService(service: service))
        }
    }

    func journal(ofDatabase name: String) -> MemoryJournal {
        state.withLock { state in
            if let journal = state.journals[name] { return journal }
            let journal = MemoryJournal(databaseID: ObjectID(high: random(), low: random()))
            state.journals[name] = journal
            return journal
        }
    }

    func nextNumber() -> UInt64 {
        state.withLock { state in
            state.count += 1
            return state.count
        }
    }

    func tell(_ news: JournalNews, besides author: MemoryJournals?) {
        for entry in state.withLock({ $0.services }) {
            if let service = entry.service, service !== author { service.tell(news) }
        }
    }

    func servers(ofDatabase name: String) -> Set<String> {
        Set(state.withLock { $0.services }.compactMap(\.service).filter { $0.hasOpen(name) }.map(\.name))
    }

    func fork(losing count: Int) throws {
        for (name, journal) in state.withLock({ $0.journals }).sorted(by: { $0.key < $1.key }) {
            if !journal.records.isEmpty { try journal.fork(losing: count, epoch: random()) }
            tell(.grew(database: name), besides: nil)
        }
    }
}
