internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// A subscription that was requested and has not started yet.
struct SubscriptionStart {
    let request: ClientMessage.Subscribe
    var query: Query
    let subscriber: Subscriber
    /// When its client has asked for it; nil if the server begins it again.
    var requestedAt: Timestamp?
    /// Whether the server has interrupted it, and the resume is what its client would present if it came back now.
    var isInterrupted = false

    var session: SessionID { subscriber.session }

    /// Lets the query read what its reader may read now.
    ///
    /// - Returns: whether that is something else than before.
    /// - Throws: ``RequestRejection`` if the reader may not ask that now.
    @discardableResult
    mutating func bindToReader() throws(RequestRejection) -> Bool {
        let bound: Query
        do { bound = try subscriber.access.query(query) } catch { throw RequestRejection(error) }
        guard bound.context !== query.context, bound.context.id != query.context.id else { return false }
        query = bound
        return true
    }
}

/// Work that needs more than a turn, and is done beside the writer.
enum CostlyWork {
    /// Making the view of a subscription that is about to start.
    case view(SubscriptionStart)
    /// Listing the roots of a subscription that is bootstrapping.
    case roots(ViewSubscription)

    var subscriber: Subscriber {
        switch self {
        case .view(let start): start.subscriber
        case .roots(let subscription): subscription.subscriber
        }
    }

    var session: SessionID { subscriber.session }

    /// Whether its subscription has not started yet.
    var isStart: Bool { if case .view = self { true } else { false } }

    var subscription: UInt64 {
        switch self {
        case .view(let start): start.request.subscription
        case .roots(let subscription): subscription.id
        }
    }
}

/// The subscriptions that wait to be started, and the work for them that needs more than a turn.
///
/// For each of the two, users take turns, however many sessions each has and however many subscriptions it requests.
struct StartQueue {
    private var starts = FairQueue<SubscriptionStart>()
    private var costly = FairQueue<CostlyWork>()

    /// Whether the first subscription of some session could be started.
    func hasStarts(where isReady: (Subscriber) -> Bool) -> Bool { starts.hasNext { isReady($0.subscriber) } }

    var hasStarts: Bool { !starts.isEmpty }

    var hasCostly: Bool { !costly.isEmpty }

    /// Whether a subscription of a session is waiting, so that a later one has to wait too.
    func hasStarts(of session: SessionID) -> Bool { !starts.elements(of: session).isEmpty }

    /// How many subscriptions of a session wait to be started.
    func startCount(of session: SessionID) -> Int {
        starts.elements(of: session).count + costly.elements(of: session).count(where: \.isStart)
    }

    /// How many subscriptions of all sessions of a holder wait to be started.
    func startCount(of holder: Holder) -> Int {
        starts.elements(of: holder).count + costly.elements(of: holder).count(where: \.isStart)
    }

    mutating func append(_ start: SubscriptionStart) {
        starts.append(start, of: start.session, start.subscriber.holder)
    }

    mutating func append(_ work: CostlyWork) { costly.append(work, of: work.session, work.subscriber.holder) }

    /// Removes and returns the subscription whose turn it is.
    ///
    /// - Parameter isReady: whether a session can have its turn now.
    mutating func nextStart(
        by clock: inout FairClock, where isReady: (Subscriber) -> Bool
    ) -> SubscriptionStart? {
        starts.next(by: &clock) { isReady($0.subscriber) }
    }

    mutating func nextCostly(by clock: inout FairClock, where isReady: (Subscriber) -> Bool) -> CostlyWork? {
        costly.next(by: &clock) { isReady($0.subscriber) }
    }

    func hasCostly(where isReady: (Subscriber) -> Bool) -> Bool { costly.hasNext { isReady($0.subscriber) } }

    /// Binds the queries to a schema that has grown.
    mutating func rebind(to schema: Schema) throws {
        try starts.forEach { $0.query = try $0.query.rebound(to: schema) }
        try costly.forEach { work in
            guard case .view(var start) = work else { return }
            start.query = try start.query.rebound(to: schema)
            work = .view(start)
        }
    }

    mutating func removeAll(of session: SessionID) {
        starts.removeAll(of: session) { _ in true }
        costly.removeAll(of: session) { _ in true }
    }

    mutating func remove(_ subscription: UInt64, of session: SessionID) {
        starts.removeAll(of: session) { $0.request.subscription == subscription }
        costly.removeAll(of: session) { $0.subscription == subscription }
    }
}
