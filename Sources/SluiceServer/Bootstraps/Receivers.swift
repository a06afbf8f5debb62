/// The subscriptions that are sent pages. Users take turns by a clock, and so do the sessions of each, one after the
/// other, and the subscriptions of each session.
///
/// A session whose client must take earlier pages first is passed over as a whole. The subscriptions of a user are looked
/// at one by one, until the user's share is used up, and not those behind: a herd of thousands has many turns.
struct Receivers {
    /// The subscriptions of one session, the one whose turn it is first.
    fileprivate final class Line {
        let subscriber: Subscriber
        var subscriptions: [ViewSubscription]
        var isServed = false

        init(_ subscription: ViewSubscription) {
            subscriber = subscription.subscriber
            subscriptions = [subscription]
        }
    }

    /// The sessions of one user.
    fileprivate final class Queue {
        let holder: Holder
        /// In the order of their turns. Some may have no subscriptions left.
        private(set) var lines: [Line] = []
        private var emptyCount = 0
        var isServed = false

        init(_ holder: Holder) { self.holder = holder }

        /// Those of sessions that may be sent pages now.
        var awaited: some Sequence<ViewSubscription> {
            lines.lazy.filter { $0.subscriber.pageCredit > 0 }.flatMap(\.subscriptions)
        }

        func append(_ line: Line) { lines.append(line) }

        /// Counts a session that has lost its last subscription, or has one again.
        func noteEmpty(_ isEmpty: Bool) { emptyCount += isEmpty ? 1 : -1 }

        /// Whether it is worth while to look for sessions without subscriptions: all may end at once.
        var isSparse: Bool { emptyCount > lines.count / 2 }

        /// Lets those sessions come last that have had their turn, and removes and returns those without subscriptions.
        func endTurn() -> [Line] {
            let left = lines.filter { !$0.subscriptions.isEmpty }
            let empty = emptyCount == 0 ? [] : lines.filter(\.subscriptions.isEmpty)
            lines = left.filter { !$0.isServed } + left.filter(\.isServed)
            for line in lines { line.isServed = false }
            emptyCount = 0
            isServed = false
            return empty
        }
    }

    /// The subscriptions of one user.
    struct Turn {
        fileprivate let queue: Queue

        var holder: Holder { queue.holder }
        /// Those of sessions that may be sent pages now, in the order of their turns.
        var subscriptions: some Sequence<ViewSubscription> { queue.awaited }
    }

    private var lines: [SessionID: Line] = [:]
    private var queues: [Holder: Queue] = [:]
    /// The users, those last who were served last.
    private var order: [Queue] = []
    private(set) var count = 0

    /// All subscriptions, session by session.
    var all: some Sequence<ViewSubscription> { order.lazy.flatMap(\.lines).flatMap(\.subscriptions) }

    /// Whether some subscription of a session that may be sent pages now meets a condition.
    func hasAwaited(where condition: (ViewSubscription) -> Bool) -> Bool {
        order.contains { $0.awaited.contains(where: condition) }
    }

    /// The users in the order of their turns: first those who have had least.
    ///
    /// - Complexity: O(n log n) for the users.
    func turns(by clock: FairClock) -> [Turn] {
        let starts = order.enumerated().map { (start: clock.start(of: $1.holder), place: $0) }
        return starts.sorted { ($0.start, $0.place) < ($1.start, $1.place) }.map { Turn(queue: order[$0.place]) }
    }

    mutating func append(_ subscription: ViewSubscription) {
        let subscriber = subscription.subscriber
        count += 1
        // A client may close a session and open another of the same number.
        if let line = lines[subscriber.session], line.subscriber === subscriber {
            if line.subscriptions.isEmpty { queues[subscriber.holder]?.noteEmpty(false) }
            return line.subscriptions.append(subscription)
        }
        let line = Line(subscription)
        lines[subscriber.session] = line
        if let queue = queues[subscriber.holder] { return queue.append(line) }
        let queue = Queue(subscriber.holder)
        queue.append(line)
        queues[subscriber.holder] = queue
        order.append(queue)
    }

    /// - Complexity: O(n) for the subscriptions of the session.
    mutating func remove(_ subscription: ViewSubscription) {
        let subscriber = subscription.subscriber
        guard let line = lines[subscriber.session], line.subscriber === subscriber,
            let place = line.subscriptions.firstIndex(where: { $0 === subscription })
        else { return }
        line.subscriptions.remove(at: place)
        count -= 1
        guard line.subscriptions.isEmpty, let queue = queues[subscriber.holder] else { return }
        queue.noteEmpty(true)
        if queue.isSparse { endTurn(of: queue) }
    }

    mutating func removeAll() { self = Receivers() }

    /// Lets those come last the next time that have had their turn, and removes those of them that have all their
    /// pages.
    mutating func endTurn(of served: [ViewSubscription]) {
        var touched: [Queue] = []
        for subscription in served {
            let subscriber = subscription.subscriber
            guard let line = lines[subscriber.session], let queue = queues[subscriber.holder],
                let place = line.subscriptions.firstIndex(where: { $0 === subscription })
            else { continue }
            line.isServed = true
            line.subscriptions.remove(at: place)
            if subscription.isReceiving {
                line.subscriptions.append(subscription)
            } else {
                count -= 1
                if line.subscriptions.isEmpty { queue.noteEmpty(true) }
            }
            if !queue.isServed {
                queue.isServed = true
                touched.append(queue)
            }
        }
        guard !touched.isEmpty else { return }
        order = order.filter { !$0.isServed } + order.filter(\.isServed)
        for queue in touched { endTurn(of: queue) }
    }

    private mutating func endTurn(of queue: Queue) {
        for line in queue.endTurn() where lines[line.subscriber.session] === line {
            lines[line.subscriber.session] = nil
        }
        guard queue.lines.isEmpty else { return }
        queues[queue.holder] = nil
        order.removeAll { $0 === queue }
    }
}
