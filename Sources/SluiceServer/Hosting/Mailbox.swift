internal import SluiceModel
internal import SluiceWire

/// Holds the events that wait for a database, by user and session, and counts the memory that they take.
///
/// Users take turns, and so do the sessions of each, so that one with a long backlog of uploads does not delay the
/// others, on however many connections it is. Events of one session keep their order; between sessions there is no order
/// to keep.
package struct Mailbox: Sendable {
    /// With more than this, the mailbox is full for a user, whose connections are paused.
    package static let eventCountMax = 512
    package static let byteCountMax = 16 << 20
    /// With more than this from all, it is full for every user who has more than an equal part of it.
    package static let totalByteCountMax = 64 << 20
    /// The approximate cost of one turn, in operations, and how much of it one user may have before the next user.
    package static let turnOperationCountMax = 20_000
    package static let shareOperationCountMax = 2_000
    /// What a transaction costs beside its operations: it is checked, acknowledged, and perhaps refused and told why.
    package static let transactionCost = 10

    private struct Letter {
        var event: DatabaseEvent
        var byteCount: Int
        /// When it came, in nanoseconds of a monotonic clock.
        var time: Int64
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

    /// What waits of one user.
    private struct Line {
        /// The sessions that have letters, in the order of their turns.
        var sessions: [SessionID] = []
        var eventCount = 0
        var byteCount = 0
    }

    private var queues: [SessionID: Queue] = [:]
    private var lines: [Holder: Line] = [:]
    /// The users with waiting events in this round, the next one last.
    private var order: [Holder] = []
    /// The users who come after those in ``order``, the next one first.
    private var nextOrder: [Holder] = []
    /// The approximate memory that all events take.
    package private(set) var byteCount = 0
    /// When the oldest event of the last turn came, in nanoseconds of a monotonic clock; nil if the turn was empty.
    package private(set) var oldestTaken: Int64?

    package init() {}

    /// How many events wait: O(number of users with waiting events).
    package var eventCount: Int { lines.values.reduce(0) { $0 + $1.eventCount } }

    package var isEmpty: Bool { queues.isEmpty }

    /// Whether a user's connections must wait before they send more.
    package func isFull(for holder: Holder) -> Bool {
        guard let line = lines[holder] else { return false }
        return line.eventCount > Self.eventCountMax || line.byteCount > Self.byteCountMax
            || byteCount > Self.totalByteCountMax && line.byteCount > Self.totalByteCountMax / lines.count
    }

    /// - Parameters:
    ///   - byteCount: the approximate memory that the event takes.
    ///   - holder: whose event it is; nil for the server's own, or for that of a session of which no more is known.
    ///   - time: when it came, in nanoseconds of a monotonic clock.
    package mutating func add(_ event: DatabaseEvent, byteCount: Int, of holder: Holder? = nil, at time: Int64 = 0) {
        let session = event.session
        let holder = holder ?? event.ownHolder
        if lines[holder] == nil { nextOrder.append(holder) }
        if queues[session] == nil { lines[holder, default: Line()].sessions.append(session) }
        queues[session, default: Queue()].append(Letter(event: event, byteCount: byteCount, time: time))
        lines[holder]?.eventCount += 1
        lines[holder]?.byteCount += byteCount
        self.byteCount += byteCount
    }

    /// Whether a waiting event closes a session.
    package func closes(_ session: SessionID) -> Bool {
        queues[session]?.waiting.contains { if case .closed = $0.event { true } else { false } } ?? false
    }

    /// Takes the events of one turn: a share of each waiting user, and more of each while there is room.
    package mutating func takeTurn() -> [DatabaseEvent] {
        oldestTaken = nil
        var events: [DatabaseEvent] = []
        var room = Self.turnOperationCountMax
        while room > 0 {
            if order.isEmpty {
                order = nextOrder.reversed()
                nextOrder = []
            }
            guard let holder = order.popLast(), var line = lines.removeValue(forKey: holder) else { break }
            var share = min(room, Self.shareOperationCountMax)
            room -= share
            take(of: &line, room: &share, into: &events)
            room += max(0, share)
            if line.sessions.isEmpty { continue }
            lines[holder] = line
            nextOrder.append(holder)
        }
        return events
    }

    /// Takes the events of a user's share, of one session after the other. The session that has more comes last the next
    /// time.
    private mutating func take(of line: inout Line, room share: inout Int, into events: inout [DatabaseEvent]) {
        while share > 0, let session = line.sessions.first, var queue = queues.removeValue(forKey: session) {
            line.sessions.removeFirst()
            while share > 0, !queue.isEmpty { events.append(takeFirst(of: &queue, &line, room: &share)) }
            if queue.isEmpty { continue }
            queues[session] = queue
            line.sessions.append(session)
        }
    }

    /// Takes the first event of a session, or as many of its uploads as fit.
    private mutating func takeFirst(of queue: inout Queue, _ line: inout Line, room: inout Int) -> DatabaseEvent {
        let letter = queue.removeFirst()
        oldestTaken = min(oldestTaken ?? letter.time, letter.time)
        guard case .messages(let session, let messages) = letter.event, let cut = messages.cut(after: room) else {
            line.eventCount -= 1
            line.byteCount -= letter.byteCount
            byteCount -= letter.byteCount
            room -= letter.event.cost
            return letter.event
        }
        let first = DatabaseEvent.messages(session, cut.first)
        let rest = DatabaseEvent.messages(session, cut.rest)
        let share = letter.byteCount / (first.cost + rest.cost) * first.cost
        line.byteCount -= share
        byteCount -= share
        queue.putBack(Letter(event: rest, byteCount: letter.byteCount - share, time: letter.time))
        room -= first.cost
        return first
    }
}

extension DatabaseEvent {
    fileprivate var session: SessionID {
        switch self {
        case .open(let id, _, _, _), .renewed(let id, _), .messages(let id, _), .closed(let id): id
        // They wait behind nobody's uploads.
        case .prepared, .journalGrew, .journalAsked, .relayed, .follow: .server
        }
    }

    /// Whose the event is where nobody says more.
    fileprivate var ownHolder: Holder { session == .server ? .server : .session(session) }

    /// The cost of the event in operations.
    fileprivate var cost: Int {
        guard case .messages(_, let messages) = self else { return 1 }
        return messages.reduce(1) { $0 + $1.cost }
    }
}

extension Changeset {
    /// The cost of the transaction in operations.
    fileprivate var cost: Int { operationCount + Mailbox.transactionCost }
}

extension ClientMessage {
    /// How many operations the message uploads.
    var operationCount: Int {
        if case .write(let write) = self { return write.operationCount }
        guard case .upload(_, let changesets) = self else { return 0 }
        return changesets.reduce(0) { $0 + $1.operationCount }
    }

    /// The cost of the message's transactions in operations.
    fileprivate var cost: Int {
        switch self {
        case .upload(_, let changesets): changesets.reduce(0) { $0 + $1.cost }
        case .write(let write): write.operationCount + Mailbox.transactionCost
        default: 0
        }
    }
}

extension [ClientMessage] {
    /// Divides the messages after the transaction that reaches a cost. Messages other than uploads stay
    /// together, since their answers do.
    ///
    /// - Returns: nil if nothing would be left for the second part.
    fileprivate func cut(after cost: Int) -> (first: [ClientMessage], rest: [ClientMessage])? {
        var count = 0
        for (position, message) in enumerated() {
            guard case .upload(let session, let changesets) = message else { continue }
            for (number, changeset) in changesets.enumerated() {
                count += changeset.cost
                guard count >= cost else { continue }
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
