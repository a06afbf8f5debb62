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
    /// How many roots are listed for subscriptions that are not complete yet.
    var listedRootCount: Int {
        subscriptions.values.reduce(0) { $0 + ($1.remaining?.listedRootCount ?? 0) }
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
    /// Where the subscription gets what it lacks; nil once it is complete.
    var pages: PageSource?
    /// The comparison of members, while the client lists them.
    var comparison: Comparison?

    var isComplete: Bool { pages == nil && comparison == nil }

    /// Its place in a run of shared pages, if it takes such pages.
    var receiver: PageReceiver? { if case .shared(let receiver)? = pages { receiver } else { nil } }

    /// What remains to be read of the view.
    var remaining: Bootstrap? {
        switch pages {
        case .shared(let receiver): receiver.run.remaining
        case .own(let bootstrap): bootstrap
        case nil: nil
        }
    }

    /// Whether the server could send a page now.
    var canTakePage: Bool {
        guard session.pageCredit > 0 else { return false }
        switch pages {
        case .shared(let receiver):
            return receiver.next < receiver.run.pages.count || receiver.run.remaining.isReadable
        case .own(let bootstrap): return bootstrap.isReadable
        case nil: return false
        }
    }

    /// How many objects commits have touched behind the pages.
    var touchedCount: Int {
        switch pages {
        case .shared(let receiver): receiver.run.touchedCount
        case .own(let bootstrap): bootstrap.touched.count
        case nil: 0
        }
    }

    /// Records objects that a commit has changed behind pages of its own.
    func touch(_ objects: Set<ObjectRef>) {
        guard case .own(var bootstrap)? = pages else { return }
        // Moved out, so that nothing is copied.
        pages = nil
        bootstrap.touched.formUnion(objects)
        pages = .own(bootstrap)
    }

    /// Continues with the roots that were listed.
    func list(_ roots: [ObjectRef]) {
        if let receiver { return receiver.run.list(roots) }
        guard case .own(var bootstrap)? = pages else { return }
        bootstrap.list(roots)
        pages = .own(bootstrap)
    }

    init(id: UInt64, session: ServerSession, view: SharedView) {
        self.id = id
        self.session = session
        self.view = view
    }
}
