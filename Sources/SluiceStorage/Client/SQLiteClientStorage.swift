package import SluiceModel
internal import Synchronization

/// A client's store in SQLite.
///
/// Sound as `Sendable`: the writing calls belong to one thread at a time, as the protocol demands, and ``read(_:)`` uses
/// nothing but the pool, which is `Sendable` itself.
package final class SQLiteClientStorage: SQLiteWritableStore, ClientStorage, @unchecked Sendable {
    /// As of the open transaction.
    var state: ClientState
    /// As of the last commit.
    private var committed: ClientState
    /// Whether readers must learn of the state with the next commit.
    var isStateChanged = false
    /// Decoded changesets of the outbox, the last ones asked for.
    var recentChangesets: [IndexedChangeset] = []
    private let pool: ReaderPool
    private let gate: AccessGate?

    /// Counts stores in memory, whose databases need names.
    private static let memoryCount = Atomic<Int>(0)

    /// Opens a store, or makes it.
    package static func open(
        _ location: StorageLocation, durability: StorageDurability = .process
    ) throws -> SQLiteClientStorage {
        switch location {
        case .file(let path):
            let (connection, lock) = try connect(
                location, kind: .client, durability: durability, prepare: makeTables)
            return try SQLiteClientStorage(connection, lock: lock, location: path, gate: nil)
        case .memory:
            let number = memoryCount.wrappingAdd(1, ordering: .relaxed).newValue
            let shared = "file:/sluice-\(number)?vfs=memdb"
            let connection = try SQLiteConnection(location: shared, name: "the store in memory")
            try connection.configure(durability: durability, cacheSize: 16 << 20)
            try connection.execute("PRAGMA journal_mode = MEMORY")
            try DatabaseFile.fill(connection, kind: .client) { connection in
                try prepareObjects(on: connection)
                try makeTables(on: connection)
            }
            return try SQLiteClientStorage(connection, lock: nil, location: shared, gate: AccessGate())
        }
    }

    private init(_ connection: SQLiteConnection, lock: FileLock?, location: String, gate: AccessGate?) throws {
        state = try ClientState(stored: connection)
        self.gate = gate
        let schema = try MetaTable(connection).schema(file: connection.name)
        state.schema = schema
        committed = state
        pool = ReaderPool(location: location, name: connection.name, gate: gate, state: state)
        try super.init(connection, lock: lock)
    }

    private static func makeTables(on connection: SQLiteConnection) throws {
        for sql in [
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

    package func read<Result>(_ body: (any ClientReading) throws -> Result) throws -> Result {
        try pool.read { try body($0) }
    }

    package override func close() {
        pool.close()
        super.close()
    }

    // MARK: Transactions

    package override func begin() throws {
        guard !isInTransaction else { return try super.begin() }
        gate?.enterWriting()
        do { try super.begin() } catch {
            gate?.leaveWriting()
            throw error
        }
        isGateHeld = gate != nil
    }

    /// Whether the gate must be left when the transaction ends, however it does.
    private var isGateHeld = false

    private func leaveGate() {
        guard isGateHeld else { return }
        isGateHeld = false
        gate?.leaveWriting()
    }

    override func willCommit() throws {
        try storeMembers()
        isStateChanged = isStateChanged || state.schema != tables.schema
        state.schema = tables.schema
        guard isStateChanged else { return }
        state.generation += 1
        try meta.set("generation", state.generation)
        pool.announce(state)
    }

    override func didCommit() {
        committed = state
        isStateChanged = false
        leaveGate()
    }

    override func didRollBack() {
        if state.generation != committed.generation { pool.withdraw(state.generation) }
        state = committed
        isStateChanged = false
        recentChangesets = []
        leaveGate()
    }

    // MARK: Reading

    package var subscriptions: [SubscriptionRecord] { state.subscriptions.records }

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
        of subscription: UInt64, role: MemberRole, _ body: (ObjectRef, Row) throws -> Bool
    ) throws {
        try state.forEachMemberRow(of: subscription, role: role, in: tables, body)
    }

    package func hasPending(_ object: ObjectRef) throws -> Bool { try state.hasPending(object, on: connection) }

    package var pendingObjects: [ObjectRef] {
        get throws { try state.pendingObjects(on: connection) }
    }
}
