internal import SluiceModel
internal import SluiceWire

/// What one session subscribes to, and how much it may be sent of it.
final class Subscriber {
    let session: SessionID
    /// To whom its work counts.
    let holder: Holder
    /// What both sides of its connection know.
    let features: Features
    /// Whether the client keeps no store, see ``Features/light``.
    var isLight: Bool { features.contains(.light) }
    /// What the subscriber may read and do now.
    var access: AccessBinding
    var subscriptions = SubscriptionList()
    /// The numbers of those that are not complete. Whoever has ten thousand has few of these, most of the time.
    private var incomplete: Set<UInt64> = []
    /// The highest number of a subscription so far.
    var lastSubscription: UInt64 = 0
    /// How many more pages the server may send before the client has applied earlier ones.
    private(set) var pageCredit: UInt64

    init(_ session: SessionID, holder: Holder, access: AccessBinding, features: Features = .all, pageCredit: UInt64) {
        self.holder = holder
        self.features = features
        self.session = session
        self.access = access
        self.pageCredit = pageCredit
    }

    /// How many roots are listed for subscriptions that are not complete yet.
    ///
    /// - Complexity: O(n log n) for the subscriptions that are not complete.
    var listedRootCount: Int { incomplete.reduce(0) { $0 + (subscriptions[$1]?.listedRootCount ?? 0) } }

    /// How many members the client has listed, or was asked to list, for subscriptions that are not complete yet.
    ///
    /// - Complexity: as ``listedRootCount``.
    var comparedMemberCount: Int { incomplete.reduce(0) { $0 + (subscriptions[$1]?.announcedCount ?? 0) } }

    /// How many subscriptions have been started and are not complete.
    var incompleteCount: Int { incomplete.count }

    /// Records that a subscription has come to another state.
    func noteState(of subscription: ViewSubscription) {
        if subscription.isIncomplete { incomplete.insert(subscription.id) } else { incomplete.remove(subscription.id) }
    }

    func addCredit(_ pageCount: UInt64, atMost creditMax: UInt64) {
        pageCredit += min(pageCount, creditMax - pageCredit)
    }

    func notePage() { pageCredit -= min(pageCredit, 1) }

    /// Whether a subscription is still one of this session.
    func has(_ subscription: ViewSubscription) -> Bool { subscriptions[subscription.id] === subscription }
}
