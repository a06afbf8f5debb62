#if PostgreSQL

internal import Dispatch
internal import Glibc
public import SluiceModel
public import SluiceServer
public import SluiceStorage
internal import Synchronization

/// The journals of a node's databases in a PostgreSQL that several nodes share. A node takes six connections: four for
/// appends and reading, one that listens, and one that rings.
public final class PostgresJournals: JournalService {
    private let pool: PostgresPool
    private let places = JournalPlaces()
    private let row: NodeRow
    private let bell: JournalBell
    private let watcher: JournalWatch
    private let identity: ServerIdentity
    private let dutyRows: PostgresDuties
    private let snapshotRows: PostgresSnapshots
    private let stopSignal = StopSignal()
    private let log: LogSink?
    private let isWatching = Atomic(false)
    /// The data folder of the server; nil if it has none.
    private let folder = Mutex<String?>(nil)

    /// Names the server. It is connected to when it is needed.
    ///
    /// - Parameters:
    ///   - url: a URL of libpq, with one host or several, or `file:PATH` of a file that has it. The password may also
    ///     come from `PGPASSFILE` or `PGPASSWORD`.
    ///   - listenURL: the address of PostgreSQL itself, where `url` is that of a pooler; `none` to ask for news instead
    ///     of listening; nil to listen at `url`.
    ///   - node: the name of this node, which no other has; nil for that of the machine.
    ///   - nodeURL: where clients reach this node; nil if that is not known.
    ///   - log: where log lines go; nil logs nothing.
    /// - Throws: ``StorageError/Code/journal`` if a URL cannot be read.
    public convenience init(
        url: String, listenURL: String? = nil, node: String? = nil, nodeURL: String? = nil, log: LogSink? = nil
    ) throws(StorageError) {
        try self.init(
            url: url, listenURL: listenURL, node: node, nodeURL: nodeURL, log: log, timeouts: PostgresTimeouts())
    }

    /// - Parameters:
    ///   - timeouts: how long to wait, and how often to ask.
    ///   - history: the history of the server that the node remembers from before; nil for none. One of the same system
    ///     on a lower timeline is refused.
    package init(
        url: String, listenURL: String? = nil, node: String? = nil, nodeURL: String? = nil, log: LogSink? = nil,
        timeouts: PostgresTimeouts, remembering history: PostgresHistory? = nil
    ) throws(StorageError) {
        let address = try PostgresAddress(url)
        let listening: JournalWatch.Listening =
            listenURL == "none" ? .nothing : .to(try listenURL.map(PostgresAddress.init) ?? address)
        let log = log?.about(.database)
        self.log = log
        identity = ServerIdentity(remembering: history, log: log)
        row = NodeRow(name: node ?? Self.machineName, url: nodeURL, places: places, log: log)
        pool = PostgresPool(address: address, timeouts: timeouts, identity: identity, stop: stopSignal, row: row)
        bell = JournalBell(pool: pool, row: row)
        watcher = JournalWatch(
            pool: pool, places: places, bell: bell, messages: MessageInbox(node: row.name, places: places),
            listening: listening, log: log)
        dutyRows = PostgresDuties(pool: pool, row: row)
        snapshotRows = PostgresSnapshots(pool: pool, row: row, places: places)
    }

    deinit { stop() }

    private static var machineName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "node" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// How far PostgreSQL's clock is ahead of this machine's, in microseconds, by the newest connection.
    package var clockOffset: Int64 { identity.clockOffset }

    /// The history of the server by the newest connection; nil before the first. Who keeps it can have an old primary
    /// refused after a restart of the node, too.
    package var history: PostgresHistory? { identity.history }

    // MARK: JournalService

    package func remember(in folder: String) {
        identity.remember(Self.historyFile(in: folder).read())
        self.folder.withLock { $0 = folder }
    }

    private static func historyFile(in folder: String) -> HistoryFile { HistoryFile(path: folder + "/server.history") }

    package func expect(clusterID: String) {
        if let id = Hexadecimal.decode(clusterID) { identity.expect(clusterID: id) }
    }

    package var clusterID: String {
        get throws {
            let id = try pool.asking("the journal's server cannot be used") { _ in identity.clusterID }
            return id.map { Hexadecimal.encode($0) } ?? ""
        }
    }

    package var users: any UserStore { PostgresUsers(pool: pool, news: watcher.users) }

    package var messages: any MessageRelay {
        PostgresMessages(places: places, bell: bell, inbox: watcher.messages)
    }

    package func journal(ofDatabase name: String, isMade: Bool) throws -> any Journal {
        let what = "the journal of '\(name)' could not be opened"
        let found = try pool.asking(what) { accepted throws(PostgresFailure) -> DatabaseRow? in
            // What may be written in the journal is known before anything is. Who only reads has no row.
            if isWatching.load(ordering: .relaxed), !row.isKnown { try row.store(by: accepted.connection) }
            if let found = try DatabaseRow.find(name, accepted.connection) { return found }
            guard isMade else { return nil }
            try make(name, accepted)
            if let made = try DatabaseRow.find(name, accepted.connection) { return made }
            throw .lost("a new database is not there")
        }
        guard let found else { throw Self.unknown(name) }
        switch found.phase {
        case nil, .adopted:
            // It may have left, and come back.
            places[found.id]?.noteSeal(false)
            return journal(of: found, name)
        case .adopting: throw StorageError(.locked, "the database '\(name)' is being adopted by the cluster")
        case .sealed:
            throw StorageError(
                .detached, "the database '\(name)' was detached from the cluster; the server that has it now serves it")
        }
    }

    /// Of two nodes that make one database, one does, and both find it.
    private func make(_ name: String, _ accepted: AcceptedConnection) throws(PostgresFailure) {
        let id = ObjectID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
        try accepted.connection.execute(
            JournalStatements.make, .text(name), .bytes(DatabaseRow.bytes(id)),
            .text(accepted.greeting.history.description), .bytes(JournalHead(of: id).chain), .text(row.name))
    }

    package var databaseNames: [String] {
        get throws {
            let found = try pool.asking("the databases could not be listed") { accepted throws(PostgresFailure) in
                try accepted.connection.execute(JournalStatements.names)
            }
            return (0..<found.rowCount).map { found.text(0, row: $0) }
        }
    }

    package func adopt(_ name: String, id: ObjectID, at head: JournalHead, file path: String) throws {
        try adoption.adopt(name, id: id, at: head, file: path)
    }

    package func seal(_ name: String, for place: String, isMovedAgain: Bool) throws -> JournalHead {
        try adoption.seal(name, for: place, isMovedAgain: isMovedAgain)
    }

    package func placeOfSealed(_ name: String) throws -> String? { try adoption.place(ofSealed: name) }

    package func existingJournal(ofDatabase name: String) throws -> any Journal {
        let what = "the journal of '\(name)' could not be opened"
        let found = try pool.asking(what) { accepted throws(PostgresFailure) in
            try DatabaseRow.find(name, accepted.connection)
        }
        guard let found, found.phase != .adopting else {
            throw Self.unknown(name)
        }
        return journal(of: found, name)
    }

    private static func unknown(_ name: String) -> StorageError {
        StorageError(.notFound, "the cluster has no database '\(name)'")
    }

    private func journal(of row: DatabaseRow, _ name: String) -> PostgresJournal {
        defer { bell.announce() }
        // The service ends with its last journal.
        return PostgresJournal(
            databaseID: row.identity, place: places.place(id: row.id, name: name), pool: pool, row: self.row
        ) { [self] in bell.ring(row.id, $0) }
    }

    private var adoption: DatabaseAdoption { DatabaseAdoption(pool: pool, row: row) }

    package var duties: any DutyService { dutyRows }

    package var snapshots: any SnapshotService { snapshotRows }

    package func join() throws {
        if let folder = folder.withLock({ $0 }) {
            identity.keep(in: Self.historyFile(in: folder))
            if let id = NodeFile(path: folder + "/server.node").identity { row.succeed(in: id) }
        }
        try NodeEntry(row, pool, stopSignal, log: log).enter()
    }

    package func watch(_ hear: @escaping @Sendable (JournalNews) -> Void) {
        watcher.begin { [snapshotRows] news in
            if case .upkeepRequested = news { snapshotRows.noteRequest() }
            hear(news)
        }
        guard !isWatching.exchange(true, ordering: .relaxed) else { return }
        // Each has a thread of its own for as long as it blocks.
        DispatchQueue(label: "sluice.journal.watch").async { [watcher] in watcher.run() }
        DispatchQueue(label: "sluice.journal.bell").async { [bell] in bell.run() }
    }

    package var silence: Duration { watcher.silence }

    package var heardPositions: [String: UInt64] {
        Dictionary(places.all.map { ($0.name, $0.heard) }, uniquingKeysWith: max)
    }

    package func leave() -> String? {
        do throws(PostgresFailure) {
            return try pool.withConnection { accepted throws(PostgresFailure) in try row.leave(by: accepted.connection)
            }
        } catch {
            let reason = error.storageError("the clients of this node find another one themselves", pool.address)
                .message
            log?(.info, "no other node could be asked for", [("reason", reason)])
            return nil
        }
    }

    package func stop() {
        stopSignal.give()
        bell.stop()
        pool.closeIdle()
    }
}

extension ServerConfiguration {
    /// The PostgreSQL that has the journals of the server's databases, so that several servers serve them; nil if each
    /// database has its own in its file.
    public var journal: PostgresJournals? {
        get { journals as? PostgresJournals }
        set { journals = newValue }
    }
}

extension PostgresJournals {
    /// Names the server, as ``init(url:listenURL:node:nodeURL:log:)`` does.
    ///
    /// - Parameter url: a URL of libpq, with one host or several, or `file:PATH` of a file that has it.
    /// - Throws: ``StorageError/Code/journal`` if the URL cannot be read.
    public static func postgres(_ url: String) throws(StorageError) -> PostgresJournals {
        try PostgresJournals(url: url)
    }
}

#endif
