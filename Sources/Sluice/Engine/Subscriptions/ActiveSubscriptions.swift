internal import SluiceModel
internal import SluiceStorage

/// The subscriptions of a store that have a holder, or that stay in sync without one. It finds them by query and by
/// record, and collects those whose status changed.
final class ActiveSubscriptions {
    private var byQuery: [ObjectID: Subscription] = [:]
    private var byID: [UInt64: Subscription] = [:]
    /// The number of complete subscriptions.
    private(set) var completeCount = 0
    /// The number of subscriptions that the server is not asked for.
    private var localCount = 0
    /// Whether complete subscriptions are still at the state of the last session, since the server has not yet sent
    /// what changed meanwhile.
    var awaitsCatchUp = false
    private var changed: [UInt64: Subscription] = [:]
    /// The subscriptions that the server has neither completed nor rejected, by id.
    private var unsettled: Set<UInt64> = []
    /// The ids of those that ask for a number of first results, by what they ask for besides.
    private var byGrowth: [ObjectID: Set<UInt64>] = [:]
    /// The ids of those that ask how many objects match, by their condition.
    private var byCondition: [ObjectID: Set<UInt64>] = [:]
    /// Whether some subscription reads a class, as far as it was asked since the subscriptions last changed.
    private var readClasses: [Int: Bool] = [:]

    var count: Int { byQuery.count }

    /// Whether some subscription waits for the server's content.
    var hasIncomplete: Bool { completeCount + localCount < count }

    /// Whether nothing is awaited from the server: it has completed or rejected every subscription, in this session.
    var isSettled: Bool { unsettled.isEmpty && !awaitsCatchUp }
    var values: some Sequence<Subscription> { byQuery.values }
    /// The subscriptions that the server has neither completed nor rejected. O(their number).
    var unsettledValues: some Sequence<Subscription> { unsettled.lazy.compactMap { self.byID[$0] } }
    /// The subscriptions that the server is asked for.
    var synced: some Collection<Subscription> { byQuery.values.lazy.filter { !$0.isLocal } }

    /// The subscription to the query with this hash.
    subscript(query hash: ObjectID) -> Subscription? { byQuery[hash] }

    /// The subscription whose record has this id.
    subscript(id id: UInt64) -> Subscription? { byID[id] }

    /// Whether objects of a class may concern any subscription. O(subscriptions) when they have changed, else O(1).
    func read(class classIndex: Int) -> Bool {
        if let known = readClasses[classIndex] { return known }
        let isRead = byQuery.values.contains { $0.reads(class: classIndex) }
        readClasses[classIndex] = isRead
        return isRead
    }

    func add(_ subscription: Subscription) {
        readClasses = [:]
        byQuery[subscription.record.hash] = subscription
        byID[subscription.record.id] = subscription
        if let key = subscription.growingKey { byGrowth[key, default: []].insert(subscription.record.id) }
        if let key = subscription.countingKey { byCondition[key, default: []].insert(subscription.record.id) }
        if subscription.isComplete { completeCount += 1 }
        if subscription.isLocal { localCount += 1 }
        noteSettlement(of: subscription)
        subscription.onStatusChange = { [unowned self] subscription, wasComplete in
            completeCount += (subscription.isComplete ? 1 : 0) - (wasComplete ? 1 : 0)
            noteSettlement(of: subscription)
            changed[subscription.record.id] = subscription
        }
    }

    func remove(_ subscription: Subscription) {
        readClasses = [:]
        byQuery[subscription.record.hash] = nil
        byID[subscription.record.id] = nil
        changed[subscription.record.id] = nil
        unsettled.remove(subscription.record.id)
        if let key = subscription.growingKey, byGrowth[key]?.remove(subscription.record.id) != nil,
            byGrowth[key]?.isEmpty ?? false
        {
            byGrowth[key] = nil
        }
        if let key = subscription.countingKey, byCondition[key]?.remove(subscription.record.id) != nil,
            byCondition[key]?.isEmpty ?? false
        {
            byCondition[key] = nil
        }
        if subscription.isComplete { completeCount -= 1 }
        if subscription.isLocal { localCount -= 1 }
        subscription.onStatusChange = nil
    }

    private func noteSettlement(of subscription: Subscription) {
        if subscription.isComplete || subscription.isLocal || subscription.error != nil {
            unsettled.remove(subscription.record.id)
        } else {
            unsettled.insert(subscription.record.id)
        }
    }

    /// The largest complete subscription that asks for fewer of the first results than another one, and for the same
    /// besides; nil if there is none.
    func basis(of subscription: Subscription) -> Subscription? {
        guard let key = subscription.growingKey, let limit = subscription.query.limit else { return nil }
        return (byGrowth[key] ?? []).lazy.compactMap { self.byID[$0] }
            .filter { other in
                other !== subscription && other.phase == .complete && other.wireID != nil && !other.record.hasHoles
                    && other.query.limit ?? .max < limit
            }
            .max { $0.query.limit ?? 0 < $1.query.limit ?? 0 }
    }

    /// How many objects match, as the server has said it to a complete subscription of the same condition; nil where there
    /// is none.
    func total(like subscription: Subscription) -> [Value]? {
        guard let key = subscription.countingKey else { return nil }
        return (byCondition[key] ?? []).lazy.compactMap { self.byID[$0] }
            .first { $0 !== subscription && $0.isComplete && $0.record.figures != nil }?.record.figures
    }

    /// The subscriptions of the same condition that the server has not answered yet, and that show the total of this one
    /// meanwhile.
    func borrowers(of subscription: Subscription) -> [Subscription] {
        guard let key = subscription.countingKey, let others = byCondition[key], others.count > 1 else { return [] }
        return others.sorted().compactMap { byID[$0] }.filter { $0 !== subscription && !$0.isComplete }
    }

    /// Notes that an object is removed from the store while subscriptions have it. Where the server was told that they
    /// do, what it sends instead of the object is not enough.
    func noteLoss(of object: ObjectRef, in storage: SQLiteClientStorage) throws {
        guard awaitsCatchUp || hasIncomplete else { return }
        for id in try storage.subscriptions(having: object, role: nil) {
            guard let subscription = byID[id], awaitsCatchUp || !subscription.isComplete else { continue }
            subscription.loseMember()
        }
    }

    /// Checks the queries against the schema of now.
    func rebind(to schema: Schema) {
        readClasses = [:]
        for subscription in byQuery.values {
            guard let query = try? subscription.query.rebound(to: schema) else { continue }
            subscription.rebind(query, schema: schema)
        }
    }

    /// Puts a record back as it was before a transaction that failed.
    func restore(_ record: SubscriptionRecord) {
        guard let subscription = byID[record.id] else { return }
        if subscription.record.hash != record.hash {
            byQuery[subscription.record.hash] = nil
            byQuery[record.hash] = subscription
        }
        subscription.restore(record)
    }

    /// Files a subscription under the text that its query has now.
    func refile(_ subscription: Subscription) {
        byQuery[subscription.record.hash] = nil
        subscription.refile()
        byQuery[subscription.record.hash] = subscription
    }

    /// Returns the subscriptions whose status may have changed since the last call, by ascending id.
    func takeChanged() -> [Subscription] {
        defer { changed = [:] }
        return changed.values.sorted { $0.record.id < $1.record.id }
    }
}
