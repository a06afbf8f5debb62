package import SluiceModel
internal import Synchronization

/// A client's store in SQLite: the visible objects, the base images of those with pending operations, the outbox, and
/// the memberships of subscriptions.
///
/// The writing calls belong to one thread at a time and see the open transaction; ``read(_:)`` may be called on any
/// thread. Every change needs an open transaction. So it is sound as `Sendable`: ``read(_:)`` uses only the pool, which
/// is `Sendable` itself.
///
/// The client's `StoreTransactions` opens the transactions that change objects, and every part of the client writes inside
/// the open one. A committed transaction survives the end of the process. It survives a power failure where the store is
/// opened so, unless it holds what a server sent, which the server sends again.
package final class SQLiteClientStorage: SQLiteWritableStore, ClientReading, @unchecked Sendable {
    /// The state as of the open transaction.
    var state: ClientState
    /// The state as of the last commit.
    private var committed: ClientState
    /// Finds the subscriptions that may have a row as member.
    var holders: MembershipIndex
    /// How many subscriptions were looked at to find those that have an object. Tests use it to see how this work grows.
    package var lookedAtCount = 0
    /// Whether the next commit must announce the state to readers.
    var isStateChanged = false
    /// The part of the outbox that is in memory.
    var resident: ResidentOutbox
    /// The changesets of the outbox in which operations on an object were looked for last.
    var recentChangesets: [IndexedChangeset] = []
    /// How many changesets of the outbox were decoded. Tests use it to see how this work grows.
    package var decodedChangesetCount = 0
    /// How many transactions this file has taken, the open one included.
    private var commits: UInt64
    /// ``commits`` without the open transaction.
    private var committedCount: UInt64
    /// Whether commits are synced, except those of what a server has sent.
    private let isDurable: Bool
    /// Whether the open transaction is synced when it commits; else the last one was.
    private var isSyncing: Bool
    private let pool: ReaderPool
    /// What is known of the time of queries.
    package let storeClock = StoreClock()
    private let gate: AccessGate?

    /// Counts stores in memory, whose databases need names.
    private static let memoryCount = Atomic<Int>(0)

    /// Opens a store, or creates it.
    ///
    /// - Parameter residentOperationCountMax: how many operations of the outbox are kept in memory.
    package static func open(
        _ location: StorageLocation, durability: StorageDurability = .process,
        residentOperationCountMax: Int = ResidentOutbox.operationCountMax
    ) throws -> SQLiteClientStorage {
        let resident = ResidentOutbox(operationCountMax: residentOperationCountMax)
        switch location {
        case .file(let path):
            let (connection, file) = try connect(
                location, kind: .client, durability: durability, prepare: makeTables)
            let access = file?.obstacle == nil ? FileAccess.read : connection.access
            let storage = try SQLiteClientStorage(
                connection, file: file, readers: (access.location(path), access), gate: nil, resident: resident,
                isDurable: durability == .full)
            try storage.admit(databaseID: nil, isSynced: durability == .full)
            return storage
        case .memory:
            let number = memoryCount.wrappingAdd(1, ordering: .relaxed).newValue
            // The gate is the only lock: SQLite's own would keep readers out from a transaction's first write on.
            let shared = "file:/sluice-\(number)?vfs=memdb&nolock=1"
            let connection = try SQLiteConnection(location: shared, name: "the store in memory")
            try connection.configure(durability: durability, cacheSize: 16 << 20)
            try connection.execute("PRAGMA journal_mode = MEMORY")
            // What an open transaction writes stays in the writer's cache, so that others read beside it.
            try connection.execute("PRAGMA cache_spill = OFF")
            try DatabaseFile.fill(connection, kind: .client) { connection in
                try prepareObjects(on: connection)
                try makeTables(on: connection)
            }
            return try SQLiteClientStorage(
                connection, file: nil, readers: (shared, .read), gate: AccessGate(), resident: resident,
                isDurable: false)
        }
    }

    private init(
        _ connection: SQLiteConnection, file: OpenFile?, readers: (location: String, access: FileAccess),
        gate: AccessGate?, resident: ResidentOutbox, isDurable: Bool
    ) throws {
        self.isDurable = isDurable
        isSyncing = isDurable
        state = try ClientState(stored: connection)
        self.resident = resident
        self.gate = gate
        commits = UInt64(try MetaTable(connection).integer("commits") ?? 0)
        committedCount = commits
        let schema = try MetaTable(connection).schema(file: connection.name)
        state.schema = schema
        committed = state
        pool = ReaderPool(
            location: readers.location, name: connection.name, access: readers.access, gate: gate, state: state)
        holders = MembershipIndex(state.members)
        try super.init(connection, file: file)
    }

    private static func makeTables(on connection: SQLiteConnection) throws {
        for sql in [
            // When objects that no subscription has held were found to be cached.
            """
            CREATE TABLE _cached (class INTEGER, key BLOB, since INTEGER NOT NULL, PRIMARY KEY (class, key)) WITHOUT ROWID
            """,
            "CREATE TABLE _outbox (sequence INTEGER PRIMARY KEY, changeset BLOB NOT NULL)",
            """
            CREATE TABLE _pending (class INTEGER, key BLOB, sequence INTEGER, PRIMARY KEY (class, key, sequence)) \
            WITHOUT ROWID
            """,
            "CREATE TABLE _base (class INTEGER, key BLOB, image BLOB NOT NULL, PRIMARY KEY (class, key)) WITHOUT ROWID",
            """
            CREATE TABLE _subscriptions (id INTEGER PRIMARY KEY AUTOINCREMENT, query TEXT NOT NULL, hash BLOB NOT NULL, \
            class TEXT NOT NULL, state INTEGER NOT NULL, version INTEGER NOT NULL, created INTEGER NOT NULL, \
            updated INTEGER NOT NULL, dormant INTEGER NOT NULL, holes INTEGER NOT NULL, staging INTEGER NOT NULL)
            """,
            """
            CREATE TABLE _members (subscription INTEGER, staged INTEGER, class INTEGER, role INTEGER, chunk INTEGER, \
            rows BLOB NOT NULL, PRIMARY KEY (subscription, staged, class, role, chunk)) WITHOUT ROWID
            """,
        ] {
            try connection.execute(sql)
        }
    }

    /// Runs `body` on the state of the last commit, whatever is written meanwhile. May be called on any thread, and on
    /// several at once.
    ///
    /// The reader is valid only inside `body`.
    ///
    /// - Parameter now: this machine's clock.
    package func read<Result>(
        at now: Timestamp = Timestamp(microseconds: 0), _ body: (any ClientReading) throws -> Result
    ) throws -> Result {
        try pool.read { reader in
            reader.adopt(storeClock, at: now)
            return try body(reader)
        }
    }

    package var isTimeOwn: Bool { storeClock.isOwn }

    /// Brings the time of queries to the present; it never goes back.
    ///
    /// - Parameter now: this machine's clock.
    package func moveTime(to now: Timestamp) { tables.now = max(tables.now, storeClock.time(at: now)) }

    /// Rolls back an open transaction and closes the file, even if others still hold the store. Later calls throw
    /// ``StorageError/Code/misuse`` or ``StorageError/Code/notFound``.
    package override func close() {
        pool.close()
        super.close()
    }

    // MARK: Transactions

    override var commitCount: UInt64 { commits }

    override func begin() throws { try begin(isSynced: isDurable) }

    /// Runs `body` as ``SQLiteWritableStore/transaction(_:)`` does, for what a server has sent and would send again. A power
    /// cut may take its commit, with those of the same kind after it, until another transaction has committed. A killed
    /// process takes none.
    package func receive<Result>(_ body: () throws -> Result) throws -> Result {
        try begin(isSynced: false)
        return try finish(body)
    }

    private func begin(isSynced: Bool) throws {
        if isSynced != isSyncing, !isInTransaction {
            try connection.configure(durability: isSynced ? .full : .process)
            isSyncing = isSynced
        }
        try super.begin()
    }

    /// Whether this transaction holds the gate, and must leave it when it ends.
    private var isGateHeld = false

    private func enterGate() throws {
        guard let gate else { return }
        guard gate.enterCommitting() else {
            throw StorageError(
                .misuse, "\(connection.name): this thread is reading; commit after it has read, or on another thread")
        }
        isGateHeld = true
    }

    private func leaveGate() {
        guard isGateHeld else { return }
        isGateHeld = false
        gate?.leaveCommitting()
    }

    override func willCommit() throws {
        try storeState()
        try enterGate()
    }

    /// Stores the state that is kept in memory, and announces it to readers of the commit.
    private func storeState() throws {
        try storeMembers()
        // The marker must not count a commit that a power cut may take from a file whose commits are synced.
        if file != nil, isSyncing || !isDurable { commits += 1 }
        isStateChanged = isStateChanged || state.schema != tables.schema
        state.schema = tables.schema
        if isStateChanged { state.generation += 1 }
        try storeCounters()
        if isStateChanged { pool.announce(state) }
    }

    /// Stores with one statement what counts upwards and has changed.
    private func storeCounters() throws {
        var counters: [(name: String, value: Int64)] = []
        func store(_ name: String, _ value: Int64, after old: Int64) {
            if value != old { counters.append((name, value)) }
        }
        store("commits", Int64(clamping: commits), after: Int64(clamping: committedCount))
        store("generation", state.generation, after: committed.generation)
        store("clock", state.clock.microseconds, after: committed.clock.microseconds)
        store("lastSequence", Int64(clamping: state.lastSequence), after: Int64(clamping: committed.lastSequence))
        if !counters.isEmpty { try meta.set(counters) }
    }

    override func didCommit() {
        committed = state
        committedCount = commits
        isStateChanged = false
        holders.commit(state.members)
        leaveGate()
    }

    override func didRollBack() {
        if state.generation != committed.generation { pool.withdraw(state.generation) }
        state = committed
        commits = committedCount
        isStateChanged = false
        holders.rollBack()
        recentChangesets = []
        // It may hold changesets of the transaction, and lack those that the transaction removed.
        resident.removeAll()
        leaveGate()
    }

    /// Counts the commits that readers are told of. Tests use it.
    package var generationOfState: Int64 { state.generation }

    // MARK: Reading

    /// The subscriptions, dormant ones included, by ascending id. Takes O(n log n).
    package var subscriptions: [SubscriptionRecord] { state.subscriptions.all }

    /// How many subscriptions there are, dormant ones included.
    package var subscriptionCount: Int { state.subscriptions.count }

    /// The subscriptions that nobody observes, in no particular order.
    package var dormantSubscriptions: [SubscriptionRecord] {
        state.subscriptions.dormant.compactMap { state.subscriptions[$0] }
    }

    package func subscription(toQuery hash: ObjectID) -> SubscriptionRecord? {
        state.subscriptions.record(ofQuery: hash)
    }

    package func isMember(_ object: ObjectRef, of subscription: UInt64, role: MemberRole?) throws -> Bool {
        try state.isMember(object, of: subscription, role: role, in: tables)
    }

    package func memberCount(of subscription: UInt64, role: MemberRole) -> Int {
        state.memberCount(of: subscription, role: role)
    }

    package func forEachMember(
        of subscription: UInt64, role: MemberRole, _ body: (ObjectRef) throws -> Bool
    ) throws {
        try state.forEachMember(of: subscription, role: role, in: tables, body)
    }

    package func forEachMemberRow(
        of subscription: UInt64, role: MemberRole, _ body: (StoredRow) throws -> Bool
    ) throws {
        try state.forEachMemberRow(of: subscription, role: role, in: tables, body)
    }

}
