internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// What a committed transaction changed, and the state after it. All observers share one, so that what several of them
/// ask of an object is read once.
final class TransactionOutcome: ObjectStanding {
    /// The changes of objects.
    let delta: CommitDelta
    /// Every object that observers must judge, each once.
    let touched: [Touched]
    /// The objects whose dates have passed for a query with `$now`.
    let passing: [ObjectDelta]
    /// The objects on which operations may have ceased to be pending.
    private let settled: Set<ObjectRef>
    private let storage: SQLiteClientStorage
    /// The objects after the transaction.
    private let after: CommittedObjects
    private var standings: [ObjectRef: Standing] = [:]
    /// The state before the transaction.
    private(set) lazy var before = OldStateSource(delta, over: after, schema: storage.schema)

    var memo: EvaluationMemo? { after.memo }
    /// How many objects were read from the store.
    var readCount: Int { after.readCount }

    /// An object that observers must judge.
    struct Touched {
        /// What became of it; for one that did not change, with the same image twice.
        let change: ObjectDelta
        /// Whether it is new, no subscription has it as a result, and nothing is pending on it.
        let isStagedOnly: Bool
    }

    /// What the store knows of an object besides its row.
    struct Standing {
        /// Whether an operation on the object waits in the outbox.
        let isPending: Bool
        /// The subscriptions of which the server named the object as a result.
        let subscriptions: Set<UInt64>
        /// Whether nothing was pending before the transaction and nothing is now. The server's answer then decides
        /// whether a complete subscription shows the object, and no condition has to be evaluated.
        let isServers: Bool
    }

    /// - Parameters:
    ///   - storage: the store after the commit.
    ///   - clock: knows which dates pass.
    ///   - time: the time of queries before the transaction.
    init(
        _ transaction: StoreTransaction, in storage: SQLiteClientStorage, _ clock: QueryClock, since time: Timestamp
    ) throws {
        self.storage = storage
        self.settled = Set(transaction.settled)
        var changes: [ObjectDelta] = []
        var touched: [Touched] = []
        var readCount = 0
        touched.reserveCapacity(transaction.firstStates.count)
        // What was staged may be what a subscription has that is complete now.
        let isStagingOn = transaction.rebuilt.isEmpty
        for state in transaction.firstStates {
            let new = try state.known ?? storage.row(state.object)
            if state.known == nil { readCount += 1 }
            let change = ObjectDelta(object: state.object, old: state.row, new: new, authors: [])
            touched.append(Touched(change: change, isStagedOnly: isStagingOn && state.isStagedOnly))
            if !Self.areIdentical(state.row, new) { changes.append(change) }
        }
        var seen: Set<ObjectRef> = []
        for object in transaction.settled where !transaction.remembers(object) && seen.insert(object).inserted {
            let row = try storage.row(object)
            readCount += 1
            let change = ObjectDelta(object: object, old: row, new: row, authors: [])
            touched.append(Touched(change: change, isStagedOnly: false))
        }
        delta = CommitDelta(changes: changes, version: 0, time: TimeStep(from: time, to: storage.now))
        passing = try clock.passing(delta, in: storage).changes.filter { !$0.passed.isEmpty }
        after = CommittedObjects(touched.map(\.change), readCount: readCount, in: storage)
        self.touched = touched
    }

    private static func areIdentical(_ old: Row?, _ new: Row?) -> Bool {
        guard let old, let new else { return old == nil && new == nil }
        return old.isIdentical(to: new)
    }

    /// The change of an object; if it did not change, its state as both images.
    func change(of object: ObjectRef) throws -> ObjectDelta {
        if let change = delta.change(of: object) { return change }
        let row = try row(object)
        return ObjectDelta(object: object, old: row, new: row, authors: [])
    }

    func standing(of touched: Touched) throws -> Standing {
        if touched.isStagedOnly { return Standing(isPending: false, subscriptions: [], isServers: true) }
        return try standing(of: touched.change.object)
    }

    func standing(of object: ObjectRef) throws -> Standing {
        if let known = standings[object] { return known }
        let isPending = try storage.hasPending(object)
        let standing = Standing(
            isPending: isPending, subscriptions: Set(try storage.subscriptions(having: object, role: .root)),
            isServers: !isPending && !settled.contains(object))
        standings[object] = standing
        return standing
    }

    // MARK: The state after the transaction

    var isTimeOwn: Bool { storage.isTimeOwn }

    var now: Timestamp { after.now }

    func row(_ object: ObjectRef) throws -> Row? { try after.row(object) }

    func isPresent(_ object: ObjectRef) throws -> Bool { try after.isPresent(object) }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try after.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    func hasPending(_ object: ObjectRef) throws -> Bool { try standing(of: object).isPending }

    var hasPendingObjects: Bool { storage.hasPendingObjects }

    func baseImage(of object: ObjectRef) throws -> BaseImage? { try storage.baseImage(of: object) }

    func isMember(_ object: ObjectRef, of subscription: UInt64, role: MemberRole?) throws -> Bool {
        guard role == .root else { return try storage.isMember(object, of: subscription, role: role) }
        return try standing(of: object).subscriptions.contains(subscription)
    }
}
