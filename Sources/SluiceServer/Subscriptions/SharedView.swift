internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// A live view with its subscriptions. It is computed once, and its changes are encoded once.
final class SharedView {
    private(set) var live: LiveView
    private var subscribers = Subscribers.none

    private enum Subscribers {
        case none
        /// The usual case, which allocates no memory.
        case one(ViewSubscription)
        case many([ViewSubscription])
    }

    /// The digest of the view's content. An inner nil means that the view has none; an outer nil that it was not made
    /// since the last change.
    var digest: ObjectID?? {
        get { knownDigest.map(\.digest) }
        set { knownDigest = newValue.map { KnownDigest($0) } }
    }

    /// Boxed, since most views of a large number have no digest made.
    private final class KnownDigest {
        let digest: ObjectID?

        init(_ digest: ObjectID?) { self.digest = digest }
    }

    private var knownDigest: KnownDigest?

    /// How many times the view's content has changed.
    private(set) var changeCount: UInt32 = 0
    /// Whether the view has too many members for the digests of running sessions.
    var isTooLargeToCheck = false

    init(_ live: LiveView) { self.live = live }

    /// Records that the view's content has changed.
    func noteChange() {
        digest = nil
        changeCount &+= 1
    }

    var query: Query { live.query }

    /// Replaces the live view by one for the same query and a schema that has grown.
    func replace(by live: LiveView) {
        self.live = live
        noteChange()
    }

    var subscriptions: [ViewSubscription] {
        switch subscribers {
        case .none: []
        case .one(let subscription): [subscription]
        case .many(let subscriptions): subscriptions
        }
    }

    func add(_ subscription: ViewSubscription) {
        switch subscribers {
        case .none: subscribers = .one(subscription)
        case .one(let other): subscribers = .many([other, subscription])
        case .many(var subscriptions):
            // Moved out, so that the list is changed in place.
            subscribers = .none
            subscriptions.append(subscription)
            subscribers = .many(subscriptions)
        }
    }

    func remove(_ subscription: ViewSubscription) {
        let others = subscriptions.filter { $0 !== subscription }
        subscribers = others.isEmpty ? .none : others.count == 1 ? .one(others[0]) : .many(others)
    }
}
