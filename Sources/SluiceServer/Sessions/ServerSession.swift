internal import SluiceModel
internal import SluiceQuery

/// One client's session on a database.
final class ServerSession {
    let id: SessionID
    let user: User
    /// The client's id; nil in a read-only session, and if the database is damaged and could not make a record of the
    /// client.
    let clientID: UInt64?
    /// Whether the client asked for read-only access.
    let isReadOnly: Bool
    /// Whether the client was told that its uploads are not accepted.
    var isRefusedUploads = false
    /// Whether the client's record is removed when the client closes the session.
    let isShortLived: Bool
    var subscriptions: [UInt64: ViewSubscription] = [:]
    var lastSubscription: UInt64 = 0
    /// How many more pages the server may send before the client has applied earlier ones.
    var pageCredit: UInt64
    /// How many members the client has listed, or was asked to list, for subscriptions that are not complete yet.
    var comparedMemberCount = 0
    /// How many objects commits have changed behind the pages of subscriptions that are not complete yet.
    var touchedObjectCount = 0
    /// How many roots are listed for subscriptions that are not complete yet.
    var listedRootCount: Int {
        subscriptions.values.reduce(0) { $0 + ($1.bootstrap == nil ? 0 : $1.listedRootCount) }
    }
    /// The nonce that was offered at the opening and that the client's first message confirms; nil once the server has
    /// stored it.
    var unconfirmedNonce: ObjectID?
    /// Whether uploads are dropped, since the database cannot be written; the client was told.
    var isHeldBack = false
    /// The highest sequence received, for detecting gaps.
    var receivedSequence: UInt64
    /// The latest timestamp of a received transaction. The timestamps of a session never descend.
    var lastTimestamp = HybridTimestamp(microseconds: .min)

    init(
        id: SessionID, user: User, isReadOnly: Bool, clientID: UInt64?, isShortLived: Bool, pageCredit: UInt64,
        unconfirmedNonce: ObjectID?,
        receivedSequence: UInt64
    ) {
        self.id = id
        self.user = user
        self.isReadOnly = isReadOnly
        self.clientID = clientID
        self.isShortLived = isShortLived
        self.pageCredit = pageCredit
        self.unconfirmedNonce = unconfirmedNonce
        self.receivedSequence = receivedSequence
    }
}

/// One session's subscription to a shared view.
final class ViewSubscription {
    let id: UInt64
    let session: ServerSession
    let view: SharedView
    /// What remains to be sent before the subscription is complete; nil once it is.
    var bootstrap: Bootstrap?
    /// The comparison of members, while the client lists them.
    var comparison: Comparison?

    /// How many roots were listed for the subscription beside the writer. They are kept until the last page.
    var listedRootCount = 0

    var isComplete: Bool { bootstrap == nil && comparison == nil }

    /// Whether the server could send a page now.
    var canTakePage: Bool {
        guard session.pageCredit > 0, let bootstrap else { return false }
        return !bootstrap.isUnlisted || !bootstrap.linked.isEmpty
    }

    /// Records objects that a commit has changed behind the pages.
    func touch(_ objects: some Sequence<ObjectRef>) {
        guard let before = bootstrap?.touched.count else { return }
        bootstrap?.touched.formUnion(objects)
        session.touchedObjectCount += (bootstrap?.touched.count ?? 0) - before
    }

    init(id: UInt64, session: ServerSession, view: SharedView, bootstrap: Bootstrap?) {
        self.id = id
        self.session = session
        self.view = view
        self.bootstrap = bootstrap
    }
}
