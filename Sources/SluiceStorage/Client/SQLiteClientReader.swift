internal import SluiceModel

/// Reads a client's store by a connection of its own, with the state of the commit that it sees.
final class SQLiteClientReader: SQLiteObjectStore, ClientReading {
    private let connection: SQLiteConnection
    private var state: ClientState
    private(set) var isTimeOwn = true

    init(location: String, name: String, access: FileAccess, state: ClientState) throws {
        connection = try SQLiteConnection(location: location, name: name, access: access)
        try connection.configure(durability: .process, cacheSize: 16 << 20)
        self.state = state
        super.init(try ObjectTables(connection, schema: Schema()), isReadOnly: true)
    }

    /// Begins to read; until ``end()`` everything is as of one commit.
    ///
    /// - Returns: the generation of that commit.
    func begin() throws -> Int64 {
        try connection.beginReading()
        return try MetaTable(connection).integer("generation") ?? 0
    }

    /// Adopts the state of the commit that the reader sees.
    func adopt(_ state: ClientState) throws {
        self.state = state
        if state.schema != tables.schema { try tables.open(state.schema) } else { tables.refresh() }
    }

    /// Adopts the time of queries.
    func adopt(_ clock: StoreClock, at now: Timestamp) {
        isTimeOwn = clock.isOwn
        tables.now = clock.time(at: now)
    }

    func end() { connection.rollback() }

    func subscription(toQuery hash: ObjectID) -> SubscriptionRecord? { state.subscriptions.record(ofQuery: hash) }

    func isMember(_ object: ObjectRef, of subscription: UInt64, role: MemberRole?) throws -> Bool {
        try state.isMember(object, of: subscription, role: role, in: tables)
    }

    func memberCount(of subscription: UInt64, role: MemberRole) -> Int {
        state.memberCount(of: subscription, role: role)
    }

    func forEachMember(of subscription: UInt64, role: MemberRole, _ body: (ObjectRef) throws -> Bool) throws {
        try state.forEachMember(of: subscription, role: role, in: tables, body)
    }

    func forEachMemberRow(
        of subscription: UInt64, role: MemberRole, _ body: (StoredRow) throws -> Bool
    ) throws {
        try state.forEachMemberRow(of: subscription, role: role, in: tables, body)
    }

    var outboxCount: Int { state.outboxCount }

    func hasPending(_ object: ObjectRef) throws -> Bool { try state.hasPending(object, on: connection) }

    var hasPendingObjects: Bool { outboxCount > 0 || !state.kept.isEmpty }

    func baseImage(of object: ObjectRef) throws -> BaseImage? { try tables.baseImage(of: object) }

    var pendingObjects: [ObjectRef] {
        get throws { try state.pendingObjects(of: state.schema, on: connection) }
    }
}
