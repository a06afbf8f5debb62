internal import SluiceTransport

/// What waits for a database, and whether its worker still takes it.
///
///     phase      keep   retire        stop       event
///     --------------------------------------------------------------------
///     open       kept   retired (i)   stopping   waits
///     kept       =      –             stopping   waits
///     retired    –      –             stopping   another worker must take it
///     stopping   =      –             =          is dropped
///
/// `=` leaves the phase, and `–` is refused. (i) only while nothing waits.
struct DatabaseIntake {
    enum Phase: Hashable, CaseIterable {
        case open
        /// Work of this process may come at any time, so the worker stays.
        case kept
        /// Another worker takes what comes for the database.
        case retired
        case stopping
    }

    /// What becomes of an event.
    enum Posting: Hashable {
        /// - mustSchedule: whether nobody sees to a turn yet.
        case waits(mustSchedule: Bool)
        /// The clients keep what is not acknowledged, and send it again.
        case dropped
        /// Another worker must take it.
        case refused
    }

    /// What one turn has to handle.
    struct Turn {
        let events: [DatabaseEvent]
        /// When the oldest of them came.
        let since: Int64?
        /// The connections for which there is room again.
        let released: [any MessageConnection]
        let journalHasGrown: Bool
        let relayed: [[UInt8]]
    }

    private(set) var phase = Phase.open
    private var mailbox = Mailbox()
    /// Whether the journal may have more. One note stands for all that came since the last turn.
    private(set) var journalHasGrown = false
    /// Messages that other servers of the cluster pass on.
    private var relayed = RelayedMessages()
    private var isScheduled = false
    /// The connections of each user that are paused until the mailbox has room for the user.
    private var heldBack: [Holder: [any MessageConnection]] = [:]

    var isStopping: Bool { phase == .stopping }

    /// Whether nothing is left to do.
    var isIdle: Bool { isStopping || !isScheduled && mailbox.isEmpty }

    var counts: (events: Int, bytes: Int) { (mailbox.eventCount, mailbox.byteCount) }

    /// Whether the work for a session is useless, because the session was closed meanwhile or the server stops.
    func abandons(_ id: SessionID?) -> Bool { isStopping || id.map(mailbox.closes) ?? false }

    // MARK: Phases

    /// Keeps the worker for work of this process.
    ///
    /// - Returns: false if it has retired.
    mutating func keep() -> Bool {
        if phase == .open { phase = .kept }
        return phase != .retired
    }

    /// Has another worker take what comes from now on.
    ///
    /// - Returns: false if the worker is wanted.
    mutating func retire() -> Bool {
        guard phase == .open, mailbox.isEmpty else { return false }
        phase = .retired
        return true
    }

    /// Drops what waits, and whatever comes.
    mutating func stop() {
        phase = .stopping
        isScheduled = true
        mailbox = Mailbox()
    }

    // MARK: Events

    /// Adds an event.
    ///
    /// - Parameters:
    ///   - byteCount: the approximate memory that the event takes.
    ///   - holder: whose event it is; nil for the server's own.
    ///   - connection: the connection that sent the event; it is paused while the mailbox is full for the holder.
    ///   - time: when it came.
    mutating func post(
        _ event: DatabaseEvent, byteCount: Int, of holder: Holder?, from connection: (any MessageConnection)?,
        at time: Int64
    ) -> Posting {
        switch phase {
        case .open, .kept: break
        case .retired: return .refused
        case .stopping: return .dropped
        }
        mailbox.add(event, byteCount: byteCount, of: holder, at: time)
        if let holder, let connection, mailbox.isFull(for: holder) {
            connection.pauseReceiving()
            heldBack[holder, default: []].append(connection)
        }
        return .waits(mustSchedule: schedule())
    }

    mutating func noteJournalGrowth() { journalHasGrown = true }

    /// Adds messages of other servers' clients.
    mutating func add(_ messages: [[UInt8]]) { relayed.add(messages) }

    /// Asks for a turn.
    ///
    /// - Returns: whether nobody sees to one yet.
    mutating func schedule() -> Bool {
        guard !isStopping, !isScheduled else { return false }
        isScheduled = true
        return true
    }

    mutating func takeTurn() -> Turn {
        let events = mailbox.takeTurn()
        defer { journalHasGrown = false }
        return Turn(
            events: events, since: mailbox.oldestTaken, released: takeReleased(), journalHasGrown: journalHasGrown,
            relayed: relayed.take())
    }

    private mutating func takeReleased() -> [any MessageConnection] {
        guard !heldBack.isEmpty else { return [] }
        let released = heldBack.keys.filter { !mailbox.isFull(for: $0) }
        return released.flatMap { heldBack.removeValue(forKey: $0) ?? [] }
    }

    /// Ends a turn.
    ///
    /// - Parameter hasWork: whether the database has more to do.
    /// - Returns: whether another turn follows at once.
    mutating func endTurn(hasWork: Bool) -> Bool {
        guard !isStopping else { return false }
        isScheduled = !mailbox.isEmpty || journalHasGrown || !relayed.isEmpty || hasWork
        return isScheduled
    }
}
