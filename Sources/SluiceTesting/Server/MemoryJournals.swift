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
        /// What the server does when another one has changed the users, or passes messages on.
        var usersChanged: (@Sendable () -> Void)?
        var hearMessages: (@Sendable ([[UInt8]], String) -> Void)?
        var nodeURL: String?
        var clockOffset: Int64 = 0

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
    ) throws { self.init(try SharedJournals(now: now, random: random)) }

    private init(_ shared: SharedJournals) {
        self.shared = shared
        number = shared.nextNumber()
        shared.add(self)
    }

    /// The same journals as another server reaches them.
    package func another() -> MemoryJournals { MemoryJournals(shared) }

    package var clusterID: String { shared.clusterID }

    // What servers share ends with the process.
    package func remember(in folder: String) {}

    // It is always there.
    package func expect(clusterID: String) {}

    /// How far the clock of the journals is said to be ahead.
    package var clockOffset: Int64 {
        get { state.withLock { $0.clockOffset } }
        set { state.withLock { $0.clockOffset = newValue } }
    }

    package var users: any UserStore { MemoryUsers(self, shared.users) }

    package var messages: any MessageRelay { MemoryRelay(self) }

    /// - Parameter usersChanged: called when another server has changed the users; nil ends that.
    func watchUsers(_ usersChanged: (@Sendable () -> Void)?) { state.withLock { $0.usersChanged = usersChanged } }

    /// - Parameter hear: called with what other servers send.
    func receive(_ hear: @escaping @Sendable ([[UInt8]], String) -> Void) { state.withLock { $0.hearMessages = hear } }

    package var silence: Duration { state.withLock { $0.silentSince.map { .now - $0 } ?? .zero } }

    package var heardPositions: [String: UInt64] {
        guard state.withLock({ $0.phase == .answers }) else { return [:] }
        return Dictionary(uniqueKeysWithValues: shared.names.map { ($0, shared.journal(ofDatabase: $0).head.position) })
    }

    package func journal(ofDatabase name: String, isMade: Bool) throws -> any Journal {
        try checkItAnswers()
        let root = try isMade ? shared.journal(ofDatabase: name) : shared.existing(name)
        guard !root.isSealed else {
            throw StorageError(.detached, "the database '\(name)' was detached from the cluster")
        }
        let journal = root.another { [weak self, shared] in shared.notify(.grew(database: name), besides: self) }
        return try state.withLock { state in
            guard state.phase == .answers else { throw StorageError(.busy, "the journal does not answer") }
            state.journals[name, default: []].removeAll { $0.journal == nil }
            state.journals[name, default: []].append(WeakJournal(journal))
            return journal
        }
    }

    package var databaseNames: [String] {
        get throws {
            try checkItAnswers()
            return shared.names
        }
    }

    package func adopt(_ name: String, id: ObjectID, at head: JournalHead, file path: String) throws {
        try checkItAnswers()
        try shared.adopt(name, id: id, at: head)
        let duty = HeldDuty(Duty("adoption", ofDatabase: name), term: 0) { true }
        let snapshot = try snapshots.store(path, at: head, holding: duty)
        try snapshots.noteProof(of: snapshot, holding: duty)
    }

    package func seal(_ name: String, for place: String, isMovedAgain: Bool) throws -> JournalHead {
        try checkItAnswers()
        let before = try placeOfSealed(name)
        guard isMovedAgain || before == nil || before == place else {
            throw StorageError(.detached, "the database '\(name)' was detached into \(before ?? "")")
        }
        let head = try shared.existing(name).seal(for: place)
        shared.notify(.grew(database: name), besides: nil)
        return head
    }

    package func placeOfSealed(_ name: String) throws -> String? {
        try checkItAnswers()
        return try shared.existing(name).placeOfSealed
    }

    package func existingJournal(ofDatabase name: String) throws -> any Journal {
        try checkItAnswers()
        return try shared.existing(name).another()
    }

    package var duties: any DutyService {
        MemoryDuties(shared.duties, server: number) { [weak self] in self?.answers ?? false }
    }

    package var snapshots: any SnapshotService { MemorySnapshots(shared.snapshots, server: name, journals: self) }

    var answers: Bool { state.withLock { $0.phase == .answers } }

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
    func tellOfRequest(ofDatabase name: String) { shared.notify(.upkeepRequested(database: name), besides: nil) }

    fileprivate var name: String { "server-\(number)" }

    fileprivate func hasOpen(_ database: String) -> Bool {
        state.withLock { state in
            state.phase == .answers && state.journals[database]?.contains { $0.journal != nil } ?? false
        }
    }

    // No two have one name.
    package func join() {}

    package func watch(_ hear: @escaping @Sendable (JournalNews) -> Void) { state.withLock { $0.hear = hear } }

    package func leave() -> String? {
        nodeURL = nil
        return shared.nodeURL
    }

    package func stop() {
        state.withLock { state in
            state.phase = .stopped
            (state.hear, state.usersChanged, state.hearMessages) = (nil, nil, nil)
            state.nodeURL = nil
            state.set([.silent])
        }
    }

    /// Makes the journals answer this server, or not.
    package func setAnswers(_ answers: Bool) {
        let isConnected = state.withLock { state in
            guard state.phase != .stopped else { return false }
            state.phase = answers ? .answers : .silent
            state.set(answers ? [] : [.silent])
            return answers
        }
        guard isConnected else { return }
        // As a watch that is connected again.
        for name in shared.names { notify(.grew(database: name)) }
        hearOfUsers()
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

    fileprivate func notify(_ news: JournalNews) {
        let hear = state.withLock { $0.phase == .answers ? $0.hear : nil }
        hear?(news)
    }

    /// Tells the server that users have changed.
    func hearOfUsers() {
        let usersChanged = state.withLock { $0.phase == .answers ? $0.usersChanged : nil }
        usersChanged?()
    }

    /// Passes messages on to the server.
    func hear(_ messages: [[UInt8]], in database: String) {
        let hear = state.withLock { $0.phase == .answers ? $0.hearMessages : nil }
        hear?(messages, database)
    }

    /// The servers beside this one.
    var others: [MemoryJournals] { shared.services.filter { $0 !== self } }
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
    let users: UserFile
    let duties: SharedDuties
    let snapshots = SharedSnapshots()
    private let random: @Sendable () -> UInt64
    private let state = Mutex(State())

    init(now: @escaping @Sendable () -> Timestamp, random: @escaping @Sendable () -> UInt64) throws {
        duties = SharedDuties(now: now)
        self.random = random
        users = try UserFile(nil)
        clusterID = "\(ObjectID(high: random(), low: random()))"
    }

    var names: [String] { state.withLock { $0.journals.keys.sorted() } }

    var services: [MemoryJournals] { state.withLock { $0.services.compactMap(\.service) } }

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

    /// - Throws: ``StorageError/Code/notFound``.
    func existing(_ name: String) throws -> MemoryJournal {
        guard let journal = state.withLock({ $0.journals[name] }) else {
            throw StorageError(.notFound, "the cluster has no database '\(name)'")
        }
        return journal
    }

    /// - Throws: ``StorageError/Code/exists`` if there is one that was not sealed, or is another.
    func adopt(_ name: String, id: ObjectID, at head: JournalHead) throws {
        try state.withLock { state in
            guard state.journals[name].map({ $0.isSealed && $0.databaseID == id }) ?? true else {
                throw StorageError(.exists, "the cluster has a database '\(name)' already")
            }
            state.journals[name] = MemoryJournal(databaseID: id, base: head)
        }
    }

    func nextNumber() -> UInt64 {
        state.withLock { state in
            state.count += 1
            return state.count
        }
    }

    func notify(_ news: JournalNews, besides author: MemoryJournals?) {
        for service in services where service !== author { service.notify(news) }
    }

    func servers(ofDatabase name: String) -> Set<String> {
        Set(services.filter { $0.hasOpen(name) }.map(\.name))
    }

    func fork(losing count: Int) throws {
        for (name, journal) in state.withLock({ $0.journals }).sorted(by: { $0.key < $1.key }) {
            if !journal.records.isEmpty { try journal.fork(losing: count, epoch: random()) }
            notify(.grew(database: name), besides: nil)
        }
    }
}
