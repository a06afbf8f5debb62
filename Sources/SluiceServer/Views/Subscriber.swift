internal import SluiceModel

/// What one session subscribes to, and how much it may be sent of it.
final class Subscriber {
    let session: SessionID
    /// Who subscribes; nil for nobody in particular.
    let userID: String?
    /// What the subscriber may read and do now.
    var access: AccessBinding
    /// Whether its client reads what is said of lists beside their values.
    let readsNotes: Bool
    var subscriptions = SubscriptionList()
    /// The highest number of a subscription so far.
    var lastSubscription: UInt64 = 0
    /// How many more pages the server may send before the client has applied earlier ones.
    private(set) var pageCredit: UInt64
    /// How many members the client has listed, or was asked to list, for subscriptions that are not complete yet.
    var comparedMemberCount = 0

    init(_ session: SessionID, userID: String?, access: AccessBinding, readsNotes: Bool = false, pageCredit: UInt64) {
        self.readsNotes = readsNotes
        self.userID = userID
        self.session = session
        self.access = access
        self.pageCredit = pageCredit
    }

    /// How many roots are listed for subscriptions that are not complete yet.
    var listedRootCount: Int {
        subscriptions.all.reduce(0) { $0 + ($1.remaining?.listedRootCount ?? 0) }
    }

    func addCredit(_ pageCount: UInt64, atMost creditMax: UInt64) {
        pageCredit += min(pageCount, creditMax - pageCredit)
    }

    func notePage() { pageCredit -= min(pageCredit, 1) }

    /// Whether a subscription is still one of this session.
    func has(_ subscription: ViewSubscription) -> Bool { subscriptions[subscription.id] === subscription }
}
