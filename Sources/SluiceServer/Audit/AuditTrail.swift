internal import Dispatch
internal import SluiceModel
internal import Synchronization

/// Hands events to the receiver of a configuration, and keeps those who flood the server from flooding it too.
///
/// The first event of its kind goes on at once. Those that are like it within a minute are counted, and go on as one event
/// with their count when the minute is over. Of what clients cause, at most ``lineCountMax`` different events of each kind
/// go on in a minute, and the others as one count.
final class AuditTrail: Sendable {
    /// The most different events of a kind that go on in a minute, of those that clients cause.
    static let lineCountMax = 1_000
    /// How long events are folded.
    static let interval = Duration.seconds(60)

    fileprivate struct State {
        /// How many events like the one that has gone on have come since, how many objects they concern, and when the last
        /// of them came.
        var counts: [AuditEvent: (events: Int, keys: Int, time: Timestamp)] = [:]
        /// How many events of a kind have gone on.
        var lineCounts: [String: Int] = [:]
        /// How many further ones there were, by what they are, with the last of them.
        var excess: [String: (event: AuditEvent, count: Int)] = [:]
        var isScheduled = false
    }

    private let receiver: any AuditReceiver
    private let now: @Sendable () -> Timestamp
    private let schedule: Schedule
    private let state = Mutex(State())

    /// - Parameter schedule: calls back after a time.
    init(_ receiver: any AuditReceiver, now: @escaping @Sendable () -> Timestamp, schedule: @escaping Schedule) {
        self.receiver = receiver
        self.now = now
        self.schedule = schedule
    }

    var lostCount: UInt64 { receiver.lostCount }

    func reopen() { receiver.reopen() }

    func note(
        _ action: AuditEvent.Action, user: String? = nil, database: String? = nil, address: String? = nil,
        outcome: AuditEvent.Outcome = .done, reason: String? = nil
    ) {
        let event = AuditEvent(
            action, at: now(), user: user.map(Self.shortened), database: database, address: address, outcome: outcome,
            reason: reason)
        let (isFirst, mustSchedule) = state.withLock { state -> (Bool, Bool) in
            let mustSchedule = !state.isScheduled
            state.isScheduled = true
            return (state.take(event), mustSchedule)
        }
        if isFirst { receiver.receive(event) }
        if mustSchedule { schedule(Self.interval) { [weak self] in self?.flush() } }
    }

    /// Hands on what was counted.
    func flush() {
        let counted = state.withLock { state in
            let events = state.counted
            state = State()
            return events
        }
        for event in counted { receiver.receive(event) }
    }

    /// Hands on what was counted, and returns once the receiver has kept all.
    func finish() async {
        flush()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [receiver] in
                receiver.flush()
                continuation.resume()
            }
        }
    }

    /// Who has no login yet may give a name of any length.
    private static func shortened(_ user: String) -> String {
        user.utf8.count <= 256 ? user : String(user.prefix(64)) + "…"
    }
}

extension AuditTrail.State {
    /// Notes an event.
    ///
    /// - Returns: whether it goes on now.
    fileprivate mutating func take(_ event: AuditEvent) -> Bool {
        let kind = event.kind
        if counts[kind] != nil {
            counts[kind]?.events += 1
            counts[kind]?.keys += event.keyCount
            counts[kind]?.time = event.time
            return false
        }
        guard event.action.isOfOperator || lineCounts[event.name, default: 0] < AuditTrail.lineCountMax else {
            excess[event.name] = (event, (excess[event.name]?.count ?? 0) + 1)
            return false
        }
        lineCounts[event.name, default: 0] += 1
        counts[kind] = (0, 0, event.time)
        return true
    }

    /// What was counted, in the order of the last event that each stands for.
    fileprivate var counted: [AuditEvent] {
        var events = counts.filter { $0.value.events > 0 }.map { kind, count in
            var event = kind
            event.count = count.events
            event.keyCount = count.keys
            event.time = count.time
            return event
        }
        for (event, count) in excess.values {
            var event = event
            (event.user, event.database, event.address, event.count) = (nil, nil, nil, count)
            event.reason = "more than \(AuditTrail.lineCountMax) different events within a minute"
            events.append(event)
        }
        return events.sorted { ($0.time, $0.json) < ($1.time, $1.json) }
    }
}

extension AuditEvent {
    /// What events have in common that are folded. Whoever guesses may try another name each time.
    fileprivate var kind: AuditEvent {
        var kind = self
        kind.time = Timestamp(microseconds: 0)
        if case .loginRefused = action { kind.user = nil }
        kind.keyCount = 0
        return kind
    }

    /// How many objects were to be written; 0 for other events.
    fileprivate var keyCount: Int {
        get { if case .writesRejected(_, _, let count) = action { count } else { 0 } }
        set {
            guard case .writesRejected(let code, let className, _) = action else { return }
            action = .writesRejected(code: code, className: className, keyCount: newValue)
        }
    }
}
