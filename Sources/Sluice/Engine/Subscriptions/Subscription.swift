internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// A store's subscription to one canonical query. Everybody who observes the query or waits for it holds the
/// subscription, and it stays in sync while it has holders.
///
/// Its life: ``SubscriptionHolders`` makes it for its first holder, ``SubscriptionRequests`` asks the server for it in
/// each session, ``FrameApplier`` brings what the server sends, and it ends with its last holder unless it is kept. Each
/// of them reports events, which move the ``SubscriptionPhase`` and return what is to be done with what is stored
/// (``carryOut(_:in:_:)``). Only the store's queue uses it.
final class Subscription {
    typealias Event = SubscriptionPhase.Event
    typealias Effect = SubscriptionPhase.Effect

    /// Decides which objects are results.
    private(set) var judge: ResultMatcher
    /// Which links the query follows.
    private(set) var plan: ClosurePlan
    /// The subscription's stored record, with the state as it is stored.
    private(set) var record: SubscriptionRecord
    private(set) var phase: SubscriptionPhase {
        didSet {
            record.state = phase.stored
            if phase != oldValue { onStatusChange?(self, oldValue.stored == .complete) }
        }
    }
    /// Called when the status may have changed, with whether the subscription was complete before.
    var onStatusChange: ((Subscription, _ wasComplete: Bool) -> Void)?
    /// What ended syncing for all subscriptions; nil while it goes on.
    private(set) var halt: SyncError? { didSet { if halt != oldValue { onStatusChange?(self, isComplete) } } }

    /// The number of observers and waiters.
    private(set) var holderCount = 1
    /// Whether the query stays in sync without holders, until it is stopped explicitly.
    private(set) var isKept = false
    /// Whether the server is never asked: the query is over a class that does not sync, so that what is here is all, or
    /// its observers want no more than what is here.
    let isLocal: Bool
    /// Whether the query is over a class that syncs, and its observers want no more than what is here.
    let isCached: Bool
    /// Whether its membership is kept dormant when it ends. The subscription to an object that was only waited for
    /// leaves none.
    private(set) var isRemembered: Bool

    /// The subscription's number in the open session; nil while there is none.
    private(set) var wireID: UInt64?
    /// The progress of the bootstrap, as the server reports it.
    private(set) var progress = 0.0 { didSet { if progress != oldValue { onStatusChange?(self, isComplete) } } }
    /// What the query computes over everything that it matches, as the record has it.
    private var figures: ServedFigures { didSet { record.figures = figures.values } }
    /// How many rows and departures the server has sent since the last request.
    private(set) var arrivedCount = 0
    /// What the server has sent of it in pages, since it has holders.
    private(set) var received = TransferAmount()
    /// When the connection ended in which the server last confirmed the membership; nil if that was not in this process.
    private(set) var confirmedUntil: Timestamp?

    /// What is kept in mind until the server completes it.
    var staged = StagedContent()

    /// Those who wait for its status, by number.
    var waiters: [UInt64: (SubscriptionStatus) -> Bool] = [:]
    /// The number of the last waiter.
    var lastWaiter: UInt64 = 0

    /// A subscription with one holder.
    ///
    /// - Parameters:
    ///   - isAlone: whether the store has no server.
    ///   - isLocal: whether the query is over a class that does not sync.
    ///   - isCached: whether its observers want no more than what is here.
    ///   - isRemembered: whether its membership is kept dormant when it ends.
    ///   - halt: what has ended syncing; nil while it goes on.
    init(
        query: Query, schema: Schema, record: SubscriptionRecord, isAlone: Bool, isLocal: Bool, isCached: Bool,
        isRemembered: Bool, halt: SyncError?
    ) {
        self.record = record
        figures = ServedFigures(record.figures)
        phase = SubscriptionPhase(record.state)
        self.isLocal = isLocal || isCached
        self.isCached = isCached && !isLocal
        self.isRemembered = isRemembered && !self.isLocal
        growingKey = self.isLocal ? nil : query.growingKey?.hash
        countingKey = self.isLocal || !query.countsMatches ? nil : query.countingKey.hash
        self.halt = self.isLocal ? nil : halt
        judge = ResultMatcher(query, schema: schema, isAlone: isAlone || isCached)
        plan = ClosurePlan(query, schema: schema)
    }

    // MARK: The query

    var query: Query { judge.query }

    /// Equal for subscriptions that differ in nothing but how many of the first results they ask the server for; nil for
    /// others. As of when the subscription was made: properties may have other names since.
    let growingKey: ObjectID?

    /// Equal for subscriptions that ask the server how many objects match, and of the same condition; nil for those that
    /// do not ask. As of when the subscription was made.
    let countingKey: ObjectID?

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

    /// Adjusts to a schema that has grown.
    func rebind(_ query: Query, schema: Schema) {
        figures.forgetGroups()
        judge = judge.rebound(to: query, schema: schema)
        plan = ClosurePlan(query, schema: schema)
    }

    /// Notes the text that the query has now in the record.
    func refile() {
        record.canonicalText = query.canonicalText
        record.hash = hash
    }

    // MARK: The status

    /// Whether the membership is right, as of the record's version.
    var isComplete: Bool { record.state == .complete }

    /// Whether the server's answer decides which objects are results.
    func isServed(in state: any ObjectStanding) -> Bool { judge.isInForce(record, in: state) }

    /// Why the server does not serve it, or why syncing ended; nil if neither is so.
    var error: SyncError? { if case .failed(let error) = phase { error } else { halt } }

    var status: SubscriptionStatus {
        if isLocal { return SubscriptionStatus(state: isCached ? .pending : .complete, progress: isCached ? 0 : 1) }
        if let error { return SubscriptionStatus(state: .error, error: error) }
        return switch record.state {
        case .complete: SubscriptionStatus(state: .complete, progress: 1)
        case .bootstrapping: SubscriptionStatus(state: .bootstrapping, progress: progress)
        case .pending, .failed: SubscriptionStatus(state: .pending)
        }
    }

    // MARK: Holders

    func addHolder() { holderCount += 1 }

    /// - Parameter keeping: whether the query stays in sync without holders; nil leaves that as it is.
    func removeHolder(keeping: Bool?) {
        holderCount -= 1
        // What is not in sync cannot be kept so.
        if !isCached, keeping ?? isKept {
            isKept = true
        } else if holderCount == 0 {
            isKept = false
        }
    }

    func stopKeeping() { isKept = false }

    /// Keeps the membership dormant when the subscription ends.
    func remember() { isRemembered = !isLocal }

    // MARK: Events of the session

    /// Notes that the session asks for it.
    ///
    /// - Parameters:
    ///   - number: its number in the session.
    ///   - canResume: whether the server may continue from what is here.
    ///   - version: the store's version, of which the members of a complete subscription are right.
    func request(as number: UInt64, canResume: Bool, at version: UInt64) -> Effect {
        wireID = number
        arrivedCount = 0
        let effect = advance(.request(canResume: canResume, isWhole: !record.hasHoles), at: version)
        if effect == .stage { record.version = 0 }
        return effect
    }

    /// Notes that everything is requested again.
    func restart() -> Effect {
        record.version = 0
        return advance(.restart)
    }

    /// Notes that the connection has ended.
    func connectionLost() -> Effect {
        arrivedCount = 0
        wireID = nil
        return advance(.connectionLoss)
    }

    /// Notes that the connection ends in which the server has confirmed the membership so far.
    func confirm(until time: Timestamp) { confirmedUntil = time }

    /// Notes that the server's first content has resumed others and not this one.
    func fallBehind(at version: UInt64) -> Effect { advance(.leftBehind, at: version) }

    /// Notes that syncing has ended because of an error.
    func stop(because error: SyncError) { halt = error }

    /// Notes that syncing begins again after an error.
    func retry() {
        halt = nil
        _ = advance(.retry)
    }

    // MARK: Events of this store

    /// Notes that a member is removed here although the server was told of it.
    func loseMember() {
        // What the server brings to another context it knows without asking.
        guard phase != .switching else { return }
        _ = advance(.memberLoss)
        // What it tells the server next is not what it had at its version.
        record.hasHoles = true
    }

    /// Notes that the user reads in another context, to which the server has not brought it.
    ///
    /// - Parameter isOfFields: whether the user may read other properties.
    func contextChanged(isOfFields: Bool) {
        _ = advance(.contextChange)
        record.hasHoles = true
        if isOfFields { record.version = 0 }
    }

    /// Notes that the session that opens is in another context than the last.
    ///
    /// - Parameter isOfFields: whether the user may read other properties.
    func contextReplaced(isOfFields: Bool) -> Effect {
        record.hasHoles = true
        return isOfFields ? forgetServer() : .none
    }

    /// Notes that what is here is nothing to continue from.
    func forgetServer() -> Effect {
        forgetVersion()
        return advance(.serverForgotten)
    }

    /// Returns to the record as it is stored, because a transaction has failed. If the state was another, the session
    /// that made it so ends.
    func restore(_ stored: SubscriptionRecord) {
        if stored.state != record.state { phase = SubscriptionPhase(stored.state) }
        record = stored
        figures = ServedFigures(stored.figures)
    }

    // MARK: Events of the server

    /// Takes in a page.
    ///
    /// - Parameter version: the version of the last commit.
    /// - Throws: ``SyncError/Code/protocolViolation`` when the server must not send it now.
    func receive(_ page: ServerMessage.Page, at version: UInt64) throws -> Effect {
        arrivedCount += page.content.objects.count + page.content.departures.count
        let effect = try receive(.page(page.kind), at: page.kind == .resumed ? version : nil)
        // Its members must not be resumed by their version until it is complete again.
        if effect == .demote { record.hasHoles = true }
        if hasStagedTargets { progress = page.progress }
        return effect
    }

    /// Whether a membership is staged beside that of before.
    var isStaging: Bool { phase.isStaging }

    /// Whether what the server sends is kept in mind until it completes the subscription. Outside of a bootstrap a page
    /// is applied like a commit.
    var hasStagedTargets: Bool { isStaging || phase == .switching }

    /// Takes in that the server has completed it. ``membershipIsStored()`` follows, unless it has to be requested again.
    ///
    /// - Throws: ``SyncError/Code/protocolViolation`` when the server must not send it now.
    func receive(_ completion: ServerMessage.Complete, now: Timestamp) throws -> Effect {
        let effect = try receive(.completion(completion.kind), at: nil)
        guard effect != .requestAnew else { return effect }
        try figures.receive(completion.figures, of: query)
        progress = 1
        record.version = completion.version
        record.updatedAt = now
        return effect
    }

    /// The groups that the server has said, in the order of the query; nil if it has not. O(1) once they were asked for.
    func saidGroups() -> [GroupFigures]? { figures.groups(of: query) }

    /// Takes in how many objects match from a subscription of the same condition, until the server has answered this one.
    func borrow(total: [Value]?) { figures = ServedFigures(total) }

    /// Takes in what a commit has changed of that: of a query with GROUP the groups that are others, else all figures.
    ///
    /// - Throws: ``SyncError/Code/protocolViolation`` when these are not the figures that the query asks for.
    func receive(changedFigures change: [Value]) throws { try figures.receive(changed: change, of: query) }

    /// Notes that the membership that the server has completed is stored.
    func membershipIsStored() { record.hasHoles = false }

    /// Takes in that the server asks for the members.
    ///
    /// - Parameter version: the store's version, of which the members of a complete subscription are right.
    /// - Throws: ``SyncError/Code/protocolViolation`` when the server must not ask now.
    func receiveRequestForMembers(at version: UInt64) throws -> Effect { try receive(.memberList, at: version) }

    /// Takes in that the server does not serve it.
    ///
    /// - Throws: ``SyncError/Code/protocolViolation`` when the server has not been asked.
    func refuse(because error: SyncError) throws -> Effect { try receive(.refusal(error), at: nil) }

    /// Notes that its members go, because the user may not ask for them any more.
    func forgetVersion() {
        record.version = 0
        figures = ServedFigures(nil)
    }

    /// Counts what the server has sent.
    func count(_ amount: TransferAmount) { received += amount }

    // MARK: Transitions

    private func receive(_ event: Event, at version: UInt64?) throws -> Effect {
        do { return try move(event, at: version) } catch {
            throw SyncError(.protocolViolation, error.message)
        }
    }

    private func advance(_ event: Event, at version: UInt64? = nil) -> Effect {
        do { return try move(event, at: version) } catch { preconditionFailure(error.message) }
    }

    /// - Parameter version: of which the members are right if they cease to count as complete; nil to leave it.
    private func move(_ event: Event, at version: UInt64?) throws(SubscriptionPhase.IllegalTransition) -> Effect {
        let (next, effect) = try phase.after(event)
        if let version, isComplete, next.stored != .complete { record.version = version }
        phase = next
        return effect
    }

    // MARK: The stored membership

    /// Does what a transition asks of the stored membership, and stores the record; in the open transaction. What belongs
    /// to the completion of a membership is left to ``FrameApplier``.
    func carryOut(_ effect: Effect, in storage: SQLiteClientStorage, _ transaction: StoreTransaction) throws {
        switch effect {
        case .abandon:
            progress = 0
            try abandonStaging(in: storage, transaction)
        case .stage:
            try abandonStaging(in: storage, transaction)
            try storage.beginStaging(record.id)
        case .stageCopy:
            progress = 0
            try abandonStaging(in: storage, transaction)
            try storage.beginStagingCopy(record.id)
        case .none, .demote, .finish, .confirm, .requestAnew: break
        }
        try storage.updateSubscription(record)
    }

    /// Ends the staging of a membership that goes on no more, if there is one. What has arrived of it is no part of the
    /// next, and stays with the subscription until the server says otherwise or the subscription ends.
    private func abandonStaging(in storage: SQLiteClientStorage, _ transaction: StoreTransaction) throws {
        staged.abandon()
        guard try storage.abandonStaging(record.id) else { return }
        record.hasHoles = true
        // Results that cannot be judged here go by the members.
        transaction.noteRebuild(record.id, rereads: false)
    }
}
