internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// A store's subscription to one canonical query. Everybody who observes the query or waits for it holds the
/// subscription, and it stays in sync while it has holders.
final class Subscription {
    /// Decides which objects are results.
    private(set) var judge: ResultJudge
    /// Which links the query follows.
    private(set) var plan: ClosurePlan
    /// The subscription's stored record.
    var record: SubscriptionRecord {
        didSet { if record.state != oldValue.state { onStatusChange?(self, oldValue.state == .complete) } }
    }
    /// Called when the status may have changed, with whether the subscription was complete before.
    var onStatusChange: ((Subscription, _ wasComplete: Bool) -> Void)?
    /// The number of observers and waiters.
    var holderCount = 0
    /// Whether the query stays in sync without holders, until it is stopped explicitly.
    var isKept = false
    /// Whether the server is never asked: the query is over a class that does not sync, so that what is here is all, or
    /// its observers want no more than what is here.
    let isLocal: Bool
    /// Whether the query is over a class that syncs, and its observers want no more than what is here.
    let isCached: Bool
    /// Whether its membership is kept dormant when it ends. The subscription to an object that was only waited for
    /// leaves none.
    var isRemembered = true
    /// The subscription's number in the open session; nil while there is none.
    var wireID: UInt64?
    /// Whether the server has not completed it since the last request.
    var awaitsCompletion = false
    /// The progress of the bootstrap, as the server reports it.
    var progress = 0.0 { didSet { if progress != oldValue { onStatusChange?(self, isComplete) } } }
    /// How many rows and departures the server has sent since the last request.
    var arrivedCount = 0
    /// What the server has sent of it in pages, since it has holders.
    var received = TransferAmount()
    /// The targets of links in a bootstrap. The server sends each of them before the bootstrap is complete, unless it
    /// does not exist.
    var linkTargets: Set<ObjectRef> = []
    /// Objects to which its members link and whose writes from here were acknowledged while it was not complete. When it
    /// is, it has them or the server does not, since what a client has listed is not sent again.
    var writtenTargets: Set<ObjectRef> = []
    /// Whether the staged membership began as a copy of the stored one, to which the server sends the differences.
    var isCompared = false
    /// Whether what the server was told of the membership is true no more: members were removed here since, or the user
    /// reads in another context now. What the server sends because of it is not enough.
    var hasStaleRequest = false
    /// Whether the server is bringing it to another context, in pages of what differs from what it was sent before.
    var isMoving = false
    /// Why members leave, while their departure is only staged.
    var departureReasons: [ObjectRef: RemovalReason] = [:]
    var error: SyncError? { didSet { onStatusChange?(self, isComplete) } }
    /// When the connection ended in which the server last confirmed the membership; nil if that was not in this process.
    var confirmedUntil: Timestamp?
    /// Those who wait for its status, by number.
    var waiters: [UInt64: (SubscriptionStatus) -> Bool] = [:]
    /// The number of the last waiter.
    var lastWaiter: UInt64 = 0

    /// - Parameters:
    ///   - isAlone: whether the store has no server.
    ///   - isLocal: whether the query is over a class that does not sync.
    ///   - isCached: whether its observers want no more than what is here.
    init(query: Query, schema: Schema, record: SubscriptionRecord, isAlone: Bool, isLocal: Bool, isCached: Bool) {
        self.record = record
        self.isLocal = isLocal || isCached
        self.isCached = isCached && !isLocal
        judge = ResultJudge(query, schema: schema, isAlone: isAlone || isCached)
        plan = ClosurePlan(query, schema: schema)
    }

    /// Adjusts to a schema that has grown.
    func rebind(_ query: Query, schema: Schema) {
        judge = judge.rebound(to: query, schema: schema)
        plan = ClosurePlan(query, schema: schema)
    }

    var query: Query { judge.query }

    /// What the subscription is filed under.
    var hash: ObjectID { isCached ? Self.cachedHash(of: query) : query.hash }

    /// What a subscription is filed under that the server is not asked for, beside the one to the same query that it is
    /// asked for.
    static func cachedHash(of query: Query) -> ObjectID {
        ObjectID(high: ~query.hash.high, low: ~query.hash.low)
    }

    /// Whether objects of a class may be among the results, be linked from them, or decide which they are.
    func reads(class classIndex: Int) -> Bool {
        query.object != nil || query.classIndex == classIndex || plan.reaches(classIndex)
            || query.dependencies.linkPaths.contains { $0.targetClass == classIndex }
    }

    var isComplete: Bool { record.state == .complete }

    var status: SubscriptionStatus {
        if isLocal { return SubscriptionStatus(state: isCached ? .pending : .complete, progress: isCached ? 0 : 1) }
        if let error { return SubscriptionStatus(state: .error, error: error) }
        return switch record.state {
        case .complete: SubscriptionStatus(state: .complete, progress: 1)
        case .bootstrapping: SubscriptionStatus(state: .bootstrapping, progress: progress)
        case .pending, .failed: SubscriptionStatus(state: .pending)
        }
    }

    /// Ends the staging of a membership that goes on no more, in the open transaction, if there is one.
    func abandonStaging(in storage: any ClientStorage, _ transaction: StoreTransaction) throws {
        endStaging()
        guard try storage.abandonStaging(record.id) else { return }
        record.hasHoles = true
        // Results that cannot be judged here go by the members.
        transaction.noteRebuild(record.id, rereads: false)
    }

    /// Drops the state that belongs to the staging of a membership.
    func endStaging() {
        isCompared = false
        linkTargets = []
        departureReasons = [:]
    }
}
