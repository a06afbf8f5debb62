internal import SluiceModel
internal import SluiceWire

/// Holds the events that wait for a database, by session, and counts the memory that they take.
///
/// Sessions take turns, so that one with a long backlog of uploads does not delay the others. Events of one session
/// keep their order; between sessions there is no order to keep.
package struct Mailbox: Sendable {
    /// A mailbox with more than this is full; its senders are paused.
    package static let eventCountMax = 512
    package static let byteCountMax = 64 << 20
    /// The approximate number of operations in one turn, and how many of them one session may have before the next
    /// session.
    package static let turnOperationCountMax = 20_000
    package static let shareOperationCountMax = 2_000

    private struct Letter {
        var event: DatabaseEvent
        var byteCount: Int
    }

    /// The letters of one session, oldest first.
    private struct Queue {
        private var letters: [Letter] = []
        private var head = 0

        var isEmpty: Bool { head == letters.count }
        var waiting: ArraySlice<Letter> { letters[head...] }

        mutating func append(_ letter: Letter) { letters.append(letter) }

        mutating func removeFirst() -> Letter {
            defer {
                head += 1
                if head > 64, head > letters.count / 2 {
                    letters.removeFirst(head)
                    head = 0
                }
            }
            return letters[head]
        }

        /// Puts back the rest of the letter that was removed last.
        mutating func putBack(_ letter: Letter) {
            if head > 0 {
                head -= 1
                letters[head] = letter
            } else {
                letters.insert(letter, at: 0)
            }
        }
    }

    private var queues: [SessionID: Queue] = [:]
    /// The sessions with waiting events in this round, the next one last.
    private var order: [SessionID] = []
    /// The sessions that come after those in ``order``, the next one first.
    private var nextOrder: [SessionID] = []
    private var eventCount = 0
    private var byteCount = 0

    package init() {}

    package var isEmpty: Bool { eventCount == 0 }

    /// Whether senders must wait.
    package var isFull: Bool { eventCount > Self.eventCountMax || byteCount > Self.byteCountMax }

    /// - Parameter byteCount: the approximate memory that the event takes.
    package mutating func add(_ event: DatabaseEvent, byteCount: Int) {
        let session = event.session
        if queues[session] == nil { nextOrder.append(session) }
        queues[session, default: Queue()].append(Letter(event: event, byteCount: byteCount))
        eventCount += 1
        self.byteCount += byteCount
    }

    /// Whether a waiting event closes a session.
    package func closes(_ session: SessionID) -> Bool {
        queues[session]?.waiting.contains { if case .closed = $0.event { true } else { false } } ?? false
    }

    /// Takes the events of one turn: a share of each waiting session, and more of each while there is room.
    package mutating func takeTurn() -> [DatabaseEvent] {
        var events: [DatabaseEvent] = []
        var room = Self.turnOperationCountMax
        while room > 0 {
            if order.isEmpty {
                order = nextOrder.reversed()
                nextOrder = []
            }
            guard let session = order.popLast(), var queue = queues.removeValue(forKey: session) else { break }
            var share = min(room, Self.shareOperationCountMax)
            room -= share
            while share > 0, !queue.isEmpty { events.append(takeFirst(of: &queue, room: &share)) }
            room += max(0, share)
            if queue.isEmpty { continue }
            queues[session] = queue
            nextOrder.append(session)
        }
        return events
    }

    /// Takes the first event of a session, or as many of its uploads as fit.
    private mutating func takeFirst(of queue: inout Queue, room: inout Int) -> DatabaseEvent {
        let letter = queue.removeFirst()
        guard case .messages(let session, let messages) = letter.event, let cut = messages.cut(after: room) else {
            eventCount -= 1
            byteCount -= letter.byteCount
            room -= letter.event.cost
            return letter.event
        }
        let first = DatabaseEvent.messages(session, cut.first)
        let rest = DatabaseEvent.messages(session, cut.rest)
        let share = letter.byteCount / (first.cost + rest.cost) * first.cost
        byteCount -= share
        queue.putBack(Letter(event: rest, byteCount: letter.byteCount - share))
        room -= first.cost
        return first
    }
}

extension DatabaseEvent {
    fileprivate var session: SessionID {
        switch self {
        case .open(let id, _, _), .renewed(let id, _), .messages(let id, _), .closed(let id): id
        case .prepared(let preparation): preparation.session
        case .follow: SessionID(connection: 0, session: 0)
        }
    }

    /// The cost of the event in operations.
    fileprivate var cost: Int {
        guard case .messages(_, let messages) = self else { return 1 }
        return messages.reduce(1) { $0 + $1.operationCount }
    }
}

extension ClientMessage {
    /// How many operations the message uploads.
    var operationCount: Int {
        guard case .upload(_, let changesets) = self else { return 0 }
        return changesets.reduce(0) { $0 + $1.operationCount }
    }
}

extension [ClientMessage] {
    /// Divides the messages after the transaction that reaches a number of operations. Messages other than uploads stay
    /// together, since their answers do.
    ///
    /// - Returns: nil if nothing would be left for the second part.
    fileprivate func cut(after operationCount: Int) -> (first: [ClientMessage], rest: [ClientMessage])? {
        var count = 0
        for (position, message) in enumerated() {
            guard case .upload(let session, let changesets) = message else { continue }
            for (number, changeset) in changesets.enumerated() {
                count += changeset.operationCount
                guard count >= operationCount else { continue }
                let left = [Changeset](changesets[(number + 1)...])
                guard !left.isEmpty || position + 1 < self.count else { return nil }
                let rest: [ClientMessage] = left.isEmpty ? [] : [.upload(session: session, changesets: left)]
                return (
                    self[..<position] + [.upload(session: session, changesets: [Changeset](changesets[...number]))],
                    rest + self[(position + 1)...]
                )
            }
        }
        return nil
    }
}
