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
    var subscriptions = SubscriptionTable()
    /// The subscriptions with a bootstrap under way.
    var staging = ShardedTable<UInt64, Bool>()
    var members = Memberships()
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
            let didVisitAll = try members.bitmap(place).forEach { row in
                try body(ObjectRef(place.classIndex, tables.key(ofRow: row, in: place.classIndex)))
            }
            guard didVisitAll else { return }
        }
    }

    func forEachMemberRow(
        of subscription: UInt64, role: MemberRole, in tables: ObjectTables,
        _ body: (ObjectRef, Row) throws -> Bool
    ) throws {
        for place in members.places(of: subscription) where !place.isStaged && place.role == role {
            let didVisitAll = try tables.forEachRow(of: members.bitmap(place), ofClass: place.classIndex) { row in
                try body(ObjectRef(place.classIndex, row.key), row)
            }
            guard didVisitAll else { return }
        }
    }

    func hasPending(_ object: ObjectRef, on connection: SQLiteConnection) throws -> Bool {
        guard outboxCount > 0 else { return false }
        return try connection.withStatement("SELECT 1 FROM _pending WHERE class = ? AND key = ? LIMIT 1") { statement in
            statement.bind(1, object)
            return try statement.step()
        }
    }

    func pendingObjects(on connection: SQLiteConnection) throws -> [ObjectRef] {
        guard outboxCount > 0 else { return [] }
        return try connection.withStatement("SELECT DISTINCT class, key FROM _pending") { statement in
            var objects: [ObjectRef] = []
            while try statement.step() { objects.append(try statement.object(0, file: connection.name)) }
            return objects
        }
    }
}
