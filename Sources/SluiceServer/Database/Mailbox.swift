/// What waits for a database, and how much memory it takes.
package struct Mailbox: Sendable {
    /// Senders that add to a mailbox with more than this are held back.
    package static let eventCountMax = 512
    package static let byteCountMax = 64 << 20

    private var events: [DatabaseEvent] = []
    private var byteCount = 0

    package init() {}

    package var isEmpty: Bool { events.isEmpty }

    /// Whether senders are to wait.
    package var isFull: Bool { events.count > Self.eventCountMax || byteCount > Self.byteCountMax }

    /// - Parameter byteCount: the memory that the event takes, about.
    package mutating func add(_ event: DatabaseEvent, byteCount: Int) {
        events.append(event)
        self.byteCount += byteCount
    }

    /// Whether a session is closed by something in it.
    package func closes(_ session: SessionID) -> Bool {
        events.contains { if case .closed(session) = $0 { true } else { false } }
    }

    /// Empties the mailbox.
    ///
    /// - Returns: what was in it, in order of arrival.
    package mutating func takeAll() -> [DatabaseEvent] {
        defer { self = Mailbox() }
        return events
    }
}
