internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// A subscription that was requested and has not started yet.
struct SubscriptionStart {
    let request: ClientMessage.Subscribe
    var query: Query
    let session: ServerSession
}

/// Work that needs more than a turn, and is done beside the writer.
enum CostlyWork {
    /// Making the view of a subscription that is about to start.
    case view(SubscriptionStart)
    /// Listing the roots of a subscription that is bootstrapping.
    case roots(ViewSubscription)

    var session: ServerSession {
        switch self {
        case .view(let start): start.session
        case .roots(let subscription): subscription.session
        }
    }

    var subscription: UInt64 {
        switch self {
        case .view(let start): start.request.subscription
        case .roots(let subscription): subscription.id
        }
    }
}

/// The subscriptions that wait to be started, and the work for them that needs more than a turn.
///
/// For each of the two, sessions take turns, however many subscriptions each of them requests.
struct StartQueue {
    private var starts = SessionQueue<SubscriptionStart>()
    private var costly = SessionQueue<CostlyWork>()

    var hasStarts: Bool { !starts.isEmpty }

    /// Whether a subscription of a session is waiting, so that a later one has to wait too.
    func hasStarts(of session: SessionID) -> Bool { starts.count(of: session) > 0 }

    /// How many subscriptions of a session wait to be started.
    func startCount(of session: SessionID) -> Int {
        let views = costly.elements(of: session).filter { if case .view = $0 { true } else { false } }
        return starts.count(of: session) + views.count
    }

    mutating func append(_ start: SubscriptionStart) { starts.append(start, of: start.session.id) }

    mutating func append(_ work: CostlyWork) { costly.append(work, of: work.session.id) }

    /// Removes and returns the first subscription of the session whose turn it is.
    ///
    /// - Parameter isReady: whether a session can have its turn now.
    mutating func nextStart(where isReady: (SessionID) -> Bool) -> SubscriptionStart? { starts.next(where: isReady) }

    mutating func nextCostly(where isReady: (SessionID) -> Bool) -> CostlyWork? { costly.next(where: isReady) }

    func hasCostly(where isReady: (SessionID) -> Bool) -> Bool { costly.hasNext(where: isReady) }

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

/// Elements in order of arrival for each session. They are taken from one session after the other.
struct SessionQueue<Element> {
    private var elements: [SessionID: [Element]] = [:]
    /// The sessions that have elements, in the order of their turns.
    private var order: [SessionID] = []

    var isEmpty: Bool { order.isEmpty }

    func count(of session: SessionID) -> Int { elements[session]?.count ?? 0 }

    func elements(of session: SessionID) -> [Element] { elements[session] ?? [] }

    mutating func append(_ element: Element, of session: SessionID) {
        if elements[session] == nil { order.append(session) }
        elements[session, default: []].append(element)
    }

    func hasNext(where isReady: (SessionID) -> Bool) -> Bool { order.contains(where: isReady) }

    /// Removes and returns the first element of the first session that is ready. That session's next turn comes after
    /// those of all others.
    mutating func next(where isReady: (SessionID) -> Bool) -> Element? {
        guard let position = order.firstIndex(where: isReady) else { return nil }
        let session = order.remove(at: position)
        let element = elements[session]?.removeFirst()
        if elements[session]?.isEmpty ?? true { elements[session] = nil } else { order.append(session) }
        return element
    }

    mutating func forEach(_ body: (inout Element) throws -> Void) rethrows {
        for session in order {
            for index in 0..<count(of: session) {
                guard var element = elements[session]?[index] else { continue }
                try body(&element)
                elements[session]?[index] = element
            }
        }
    }

    mutating func removeAll(of session: SessionID, where isMeant: (Element) -> Bool) {
        elements[session]?.removeAll(where: isMeant)
        guard elements[session]?.isEmpty ?? false else { return }
        elements[session] = nil
        order.removeAll { $0 == session }
    }
}
