/// The subscriptions that are sent pages. Users take turns by a clock, and so do the sessions of each, one after the
/// other, and the subscriptions of each session.
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

    /// Whether some subscription of a session that may be sent pages now meets a condition.
    func hasAwaited(where condition: (ViewSubscription) -> Bool) -> Bool {
        lines.values.contains { $0.subscriber.pageCredit > 0 && $0.subscriptions.contains(where: condition) }
    }

    /// Those of sessions that may be sent pages now, in the order of their turns: first those of the users who have had
    /// least.
    ///
    /// - Complexity: O(n log n) for the sessions.
    func awaited(by clock: FairClock) -> some Sequence<ViewSubscription> {
        var sessions: [Holder: [SessionID]] = [:]
        var holders: [(place: Int, start: Int, holder: Holder)] = []
        for session in order {
            guard let line = lines[session], line.subscriber.pageCredit > 0, !line.subscriptions.isEmpty else {
                continue
            }
            let holder = line.subscriber.holder
            if sessions[holder] == nil { holders.append((holders.count, clock.start(of: holder), holder)) }
            sessions[holder, default: []].append(session)
        }
        holders.sort { ($0.start, $0.place) < ($1.start, $1.place) }
        return holders.lazy.flatMap { sessions[$0.holder] ?? [] }.flatMap { lines[$0]?.subscriptions ?? [] }
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
        for subscription in served where subscription.isReceiving {
            lines[subscription.session]?.subscriptions.append(subscription)
        }
        count -= served.count { !$0.isReceiving }
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
