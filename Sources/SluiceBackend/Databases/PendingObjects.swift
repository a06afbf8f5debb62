internal import Sluice
package import SluiceModel
internal import SluiceQuery
package import SluiceStorage
internal import SluiceViews

/// The objects of a database as a transaction leaves them, before it is committed: those that it has written, over those
/// that are stored.
///
/// What was written is kept beside the database until the transaction asks a query. Then it is written into the
/// database on trial, so that the query finds it, and so is what follows.
package final class PendingObjects: TransactionTarget {
    private let stored: SQLiteServerStorage
    /// In the order of the first write.
    private var written: [ObjectRef: Row?] = [:]
    private var order: [ObjectRef] = []
    private var isOnTrial = false

    /// - Parameter stored: the state that the transaction begins with.
    package init(_ stored: SQLiteServerStorage) { self.stored = stored }

    package var reader: any ClientReading {
        get throws {
            if !isOnTrial, !written.isEmpty {
                try stored.beginTrial()
                isOnTrial = true
                for object in order { try put(object) }
            }
            return ServerStanding(stored)
        }
    }

    package func row(_ object: ObjectRef) throws -> Row? {
        if let known = written[object] { return known }
        return try stored.row(object)
    }

    package func delete(_ object: ObjectRef, replacing old: Row?) throws { try write(nil, object) }

    package func update(
        _ row: Row, of object: ObjectRef, changed: PropertySet, replacing old: Row, edits: [Int: ListEdits]
    ) throws { try write(row, object) }

    package func insert(_ row: Row, of object: ObjectRef) throws -> Bool {
        guard try self.row(object) == nil else { return false }
        try write(row, object)
        return true
    }

    package func isKeptCurrent(_ object: ObjectRef) -> Bool { true }

    private func write(_ row: Row?, _ object: ObjectRef) throws {
        if written.updateValue(row, forKey: object) == nil { order.append(object) }
        if isOnTrial { try put(object) }
    }

    private func put(_ object: ObjectRef) throws { try stored.tryOut(written[object] ?? nil, of: object) }
}

/// A database as a store without a server reads its own objects: no subscription and no outbox decide what is there.
private final class ServerStanding: ClientReading {
    private let objects: SQLiteServerStorage

    init(_ objects: SQLiteServerStorage) { self.objects = objects }

    var schema: Schema { objects.schema }
    var pendingObjects: [ObjectRef] { [] }
    var outboxCount: Int { 0 }

    func subscription(toQuery hash: ObjectID) -> SubscriptionRecord? { nil }
    func memberCount(of subscription: UInt64, role: MemberRole) -> Int { 0 }
    func forEachMember(of subscription: UInt64, role: MemberRole, _ body: (ObjectRef) throws -> Bool) {}
    func forEachMemberRow(of subscription: UInt64, role: MemberRole, _ body: (StoredRow) throws -> Bool) {}
    func isMember(_ object: ObjectRef, of subscription: UInt64, role: MemberRole?) -> Bool { false }
    func hasPending(_ object: ObjectRef) -> Bool { false }
    var hasPendingObjects: Bool { false }
    func baseImage(of object: ObjectRef) -> BaseImage? { nil }

    var now: Timestamp { objects.now }
    var isTimeOwn: Bool { true }

    func row(_ object: ObjectRef) throws -> Row? { try objects.row(object) }
    func isPresent(_ object: ObjectRef) throws -> Bool { try objects.isPresent(object) }
    func findObject(_ id: ObjectID) throws -> ObjectRef? { try objects.findObject(id) }
    func count(ofClass classIndex: Int) throws -> Int { try objects.count(ofClass: classIndex) }
    func refs(matching query: Query) throws -> [ObjectRef] { try objects.refs(matching: query) }
    func count(matching query: Query) throws -> Int { try objects.count(matching: query) }
    func spend(_ stepCount: Int) throws { try objects.spend(stepCount) }

    func forEachRow(ofClass classIndex: Int, _ body: (Row) throws -> Bool) throws {
        try objects.forEachRow(ofClass: classIndex, body)
    }

    func forEachRow(matching query: Query, _ body: (Row) throws -> Bool) throws {
        try objects.forEachRow(matching: query, body)
    }

    func forEachStoredRow(matching query: Query, _ body: (StoredRow) throws -> Bool) throws {
        try objects.forEachStoredRow(matching: query, body)
    }

    func rows(
        matching query: Query, after cursor: RowCursor?, limit: Int, byteCountMax: Int
    ) throws -> (rows: [Row], next: RowCursor?) {
        try objects.rows(matching: query, after: cursor, limit: limit, byteCountMax: byteCountMax)
    }

    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws { try objects.rows(matching: query, after: position, limit: limit, body) }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws { try objects.backlinks(to: object, fromClass: classIndex, property: property, body) }

    func plan(of query: Query, order: SQLCompiler.Order) throws -> QueryExplanation.Plan? {
        try objects.plan(of: query, order: order)
    }

    func totalPlan(of query: Query) throws -> QueryExplanation.Plan? { try objects.totalPlan(of: query) }
}
