internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// A live view with its subscriptions. It is computed once, and its changes are encoded once.
final class SharedView {
    private(set) var live: LiveView
    private var subscribers = Subscribers.none

    private enum Subscribers {
        case none
        /// The usual case, which allocates no memory.
        case one(ViewSubscription)
        case many(SubscriptionGroup)
    }

    private var record = ViewRecord()
    /// Whether this process observes the view.
    var isObserved = false
    /// Whether the view has too many members for the digests of running sessions.
    var isTooLargeToCheck = false
    /// How many times the view's content has changed.
    private(set) var changeCount: UInt32 = 0

    /// The digest of the view's content. An inner nil means that the view has none; an outer nil that it was not made
    /// since the last change.
    var digest: ObjectID?? {
        get { record.digest }
        set { record.digest = newValue }
    }

    /// What the view has cost, for those who look for costly queries.
    var cost: ViewCost {
        get { record.cost }
        set { record.cost = newValue }
    }

    init(_ live: LiveView) { self.live = live }

    /// Records that the view's content has changed.
    func noteChange() {
        digest = nil
        changeCount &+= 1
    }

    var query: Query { live.query }

    /// Whether the view includes the same properties of every object of a class, whatever path leads to it.
    var includesAllAlike: Bool { live.includesAllAlike }

    /// Finds where the view's results stand, for sessions with ``Features/light``.
    func places(in storage: SQLiteServerStorage) -> ResultPlaces { ResultPlaces(live: live, storage: storage) }

    /// What the query computes over everything that it matches, as a subscriber is sent it; nil for nothing.
    func figures(for subscriber: Subscriber) -> [Value]? {
        // A store has all results where there is no limit, and counts them itself.
        guard query.hasFigures || subscriber.isLight else { return nil }
        if let groups = live.figures { return query.aggregates?.values(of: groups) }
        return live.matchCount.map { [.int(Int64($0))] }
    }

    /// Replaces the live view by one for the same query and a schema that has grown.
    func replace(by live: LiveView) {
        self.live = live
        noteChange()
    }

    var subscriptions: [ViewSubscription] {
        switch subscribers {
        case .none: []
        case .one(let subscription): [subscription]
        case .many(let group): group.subscriptions
        }
    }

    /// Those who are told of the view's changes: the subscriptions that are complete, in their order.
    ///
    /// - Complexity: O(1) if they were asked for before and are the same.
    var receivers: [ChangeReceiver] {
        switch subscribers {
        case .none: []
        case .one(let subscription): subscription.isComplete ? [ChangeReceiver(subscription)] : []
        case .many(let group): group.receivers
        }
    }

    /// Whether one of the ``receivers`` keeps no store, see ``Features/light``.
    var hasLightReceivers: Bool {
        switch subscribers {
        case .none: false
        case .one(let subscription): subscription.isComplete && subscription.subscriber.isLight
        case .many(let group): group.hasLightReceivers
        }
    }

    /// Records that a subscription has become complete, or is so no more.
    func noteCompletion() { if case .many(let group) = subscribers { group.forgetReceivers() } }

    var hasSubscriptions: Bool { if case .none = subscribers { false } else { true } }

    func add(_ subscription: ViewSubscription) {
        change { list in
            subscription.place = UInt32(list.count)
            list.append(subscription)
        }
    }

    /// Removes a subscription; nothing happens if the view does not have it. O(1): the last one takes its place.
    func remove(_ subscription: ViewSubscription) {
        change { list in
            let place = Int(subscription.place)
            guard place < list.count, list[place] === subscription else { return }
            let last = list.removeLast()
            guard last !== subscription else { return }
            last.place = subscription.place
            list[place] = last
        }
    }

    /// Removes all subscriptions, which refer to their view.
    func forgetSubscriptions() { subscribers = .none }

    /// Changes the list in place.
    private func change(_ body: (inout [ViewSubscription]) -> Void) {
        if case .many(let group) = subscribers {
            group.change(body)
            if group.subscriptions.count > 1 { return }
        }
        var list = subscriptions
        if case .many = subscribers {} else { body(&list) }
        subscribers = list.isEmpty ? .none : list.count == 1 ? .one(list[0]) : .many(SubscriptionGroup(list))
    }
}
