internal import SluiceModel

/// The state that a client's store keeps in memory beside its tables, as of one commit.
struct ClientState: Sendable {
    /// Counts the commits that changed this state. It is stored, so that a reader finds the state of the commit that it
    /// sees.
    var generation: Int64 = 0
    var schema = Schema()
    var syncState: SyncState?
    var clock = HybridTimestamp(microseconds: 0)
    var lastSequence: UInt64 = 0
    var outboxCount = 0
    var pendingRows = PendingRows()
    /// Objects that show refused values, and count as pending.
    var kept: Set<ObjectRef> = []
    var subscriptions = SubscriptionTable()
    /// The subscriptions with a bootstrap under way.
    var staging = ShardedTable<UInt64, Bool>()
    var members = Memberships()

    /// The last changeset that has left the outbox; 0 if none has.
    var retiredSequence: UInt64 { lastSequence - UInt64(outboxCount) }
}

/// Counts the rows of `_pending`. Those of changesets that have left the outbox are removed together once they are
/// half of all, so that an acknowledgement costs one statement and the table is at most twice as large as it must be.
struct PendingRows: Sendable {
    /// How many rows there are at most; nil until somebody has counted them.
    var count: Int?
    /// How many of them belong to changesets that have left the outbox.
    private var retiredCount = 0

    init(count: Int? = nil) { self.count = count }

    var areMostlyRetired: Bool { retiredCount >= max((count ?? 0) - retiredCount, 256) }

    mutating func add(_ rows: Int) { count = count.map { $0 + rows } }

    mutating func retire(_ rows: Int) { retiredCount += rows }

    mutating func removeRetired() { self = PendingRows(count: count.map { max($0 - retiredCount, 0) }) }
}

/// The parts of ``ClientReading`` that need a state and the tables it belongs to.
extension ClientState {
    func isMember(
        _ object: ObjectRef, of subscription: UInt64, role: MemberRole?, in tables: ObjectTables
    ) throws -> Bool {
        guard members.bitmaps[subscription] != nil, let row = try tables.rowID(of: object) else { return false }
        return members.has(row, classIndex: object.classIndex, role: role, subscription: subscription)
    }

    func memberCount(of subscription: UInt64, role: MemberRole) -> Int {
        members.places(of: subscription).filter { !$0.isStaged && $0.role == role }
            .reduce(0) { $0 + members.bitmap($1).count }
    }

    func forEachMember(
        of subscription: UInt64, role: MemberRole, in tables: ObjectTables, _ body: (ObjectRef) throws -> Bool
    ) throws {
        for place in members.places(of: subscription) where !place.isStaged && place.role == role {
            let didVisitAll = try tables.forEachKey(of: members.bitmap(place), ofClass: place.classIndex) { key in
                try body(ObjectRef(place.classIndex, key))
            }
            guard didVisitAll else { return }
        }
    }

    func forEachMemberRow(
        of subscription: UInt64, role: MemberRole, in tables: ObjectTables,
        _ body: (StoredRow) throws -> Bool
    ) throws {
        for place in members.places(of: subscription) where !place.isStaged && place.role == role {
            let bitmap = members.bitmap(place)
            guard try tables.forEachStoredRow(of: bitmap, ofClass: place.classIndex, body) else { return }
        }
    }

    func hasPending(_ object: ObjectRef, on connection: SQLiteConnection) throws -> Bool {
        if kept.contains(object) { return true }
        guard outboxCount > 0 else { return false }
        let sql = "SELECT 1 FROM _pending WHERE class = ? AND key = ? AND sequence > ? LIMIT 1"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, object)
            statement.bind(3, Int64(clamping: retiredSequence))
            return try statement.step()
        }
    }

    func pendingObjects(of schema: Schema, on connection: SQLiteConnection) throws -> [ObjectRef] {
        guard outboxCount > 0 else { return Array(kept) }
        let sql = "SELECT DISTINCT class, key FROM _pending WHERE sequence > ?"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(clamping: retiredSequence))
            var objects = Array(kept)
            while try statement.step() {
                let object = try statement.object(0, in: schema, file: connection.name)
                if !kept.contains(object) { objects.append(object) }
            }
            return objects
        }
    }
}
