/// The subscriptions that are sent pages. Sessions take turns, and so do the subscriptions of each.
///
/// A session whose client must take earlier pages first is passed over as a whole.
struct Receivers {
    /// The subscriptions of one session, the one whose turn it is first.
    private struct Line {
        let subscriber: Subscriber
        var subscriptions: [ViewSubscription] = []
    }

    private var lines: [SessionID: Line] = [:]
    /// The sessions in the order of their turns. Some may have no subscriptions left.
    private var order: [SessionID] = []
    private var emptyCount = 0
    private(set) var count = 0

    /// All subscriptions, session by session.
    var all: some Sequence<ViewSubscription> { order.lazy.flatMap { lines[$0]?.subscriptions ?? [] } }

    /// Those of sessions that may be sent pages now, in the order of their turns.
    var awaited: some Sequence<ViewSubscription> {
        order.lazy.flatMap { session -> [ViewSubscription] in
            guard let line = lines[session], line.subscriber.pageCredit > 0 else { return [] }
            return line.subscriptions
        }
    }

    mutating func append(_ subscription: ViewSubscription) {
        let session = subscription.session
        switch lines[session]?.subscriptions.isEmpty {
        case nil:
            order.append(session)
            lines[session] = Line(subscriber: subscription.subscriber)
        case true?:
            emptyCount -= 1
            // A client may close a session and open another of the same number.
            lines[session] = Line(subscriber: subscription.subscriber)
        case false?: break
        }
        lines[session]?.subscriptions.append(subscription)
        count += 1
    }

    /// - Complexity: O(n) for the subscriptions of the session.
    mutating func remove(_ subscription: ViewSubscription) {
        let session = subscription.session
        guard let place = lines[session]?.subscriptions.firstIndex(where: { $0 === subscription }) else { return }
        lines[session]?.subscriptions.remove(at: place)
        count -= 1
        guard lines[session]?.subscriptions.isEmpty ?? false else { return }
        emptyCount += 1
        // Not with each, since all sessions may end at once.
        if emptyCount > order.count / 2 { removeEmpty() }
    }

    mutating func removeAll() { self = Receivers() }

    /// Lets those come last the next time that have had their turn, and removes those of them that have all their
    /// pages.
    mutating func endTurn(of served: [ViewSubscription]) {
        guard !served.isEmpty else { return }
        let places = Set(served.map(ObjectIdentifier.init))
        var sessions: Set<SessionID> = []
        for subscription in served where sessions.insert(subscription.session).inserted {
            lines[subscription.session]?.subscriptions.removeAll { places.contains(ObjectIdentifier($0)) }
        }
        for subscription in served where subscription.pages != nil {
            lines[subscription.session]?.subscriptions.append(subscription)
        }
        count -= served.count { $0.pages == nil }
        order = order.filter { !sessions.contains($0) } + order.filter { sessions.contains($0) }
        removeEmpty()
    }

    private mutating func removeEmpty() {
        order.removeAll { session in
            guard lines[session]?.subscriptions.isEmpty ?? true else { return false }
            lines[session] = nil
            return true
        }
        emptyCount = 0
    }
}
