internal import SluiceModel
internal import SluiceStorage

/// The interests of a store: found by query or by stored subscription, with a note of those whose status changed.
final class InterestTable {
    private var byQuery: [ObjectID: Interest] = [:]
    private var bySubscription: [UInt64: Interest] = [:]
    /// How many are complete.
    private(set) var completeCount = 0
    private var changed: [UInt64: Interest] = [:]

    var isEmpty: Bool { byQuery.isEmpty }
    var count: Int { byQuery.count }
    var values: some Sequence<Interest> { byQuery.values }

    /// The interest in the query with a hash.
    subscript(query hash: ObjectID) -> Interest? { byQuery[hash] }

    /// The interest that a stored subscription belongs to.
    subscript(subscription id: UInt64) -> Interest? { bySubscription[id] }

    func add(_ interest: Interest) {
        byQuery[interest.query.hash] = interest
        bySubscription[interest.record.id] = interest
        if interest.isComplete { completeCount += 1 }
        interest.onStatusChange = { [unowned self] interest, wasComplete in
            completeCount += (interest.isComplete ? 1 : 0) - (wasComplete ? 1 : 0)
            changed[interest.record.id] = interest
        }
    }

    func remove(_ interest: Interest) {
        byQuery[interest.query.hash] = nil
        bySubscription[interest.record.id] = nil
        changed[interest.record.id] = nil
        if interest.isComplete { completeCount -= 1 }
        interest.onStatusChange = nil
    }

    /// The interests whose status may have changed since the last call, by ascending subscription.
    func takeChanged() -> [Interest] {
        defer { changed = [:] }
        return changed.values.sorted { $0.record.id < $1.record.id }
    }
}
