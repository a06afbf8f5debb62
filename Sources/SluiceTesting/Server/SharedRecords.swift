internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// The records of a journal in memory, and whose turn it is to append.
final class SharedRecords: Sendable {
    private struct State {
        /// The group before the first that is still there.
        var base: JournalHead
        var records: [JournalRecord] = []
        var placeOfSealed: String?
        /// Whether the next group has to begin an epoch.
        var needsEpoch: Bool
        /// Who has the turn.
        var holder: ObjectIdentifier?
        /// Those who wait for the end of the turn.
        var waiting: [DispatchSemaphore] = []
        /// What is on its way, and after how many further appends it arrives.
        var late: [(record: JournalRecord, head: JournalHead, count: Int)] = []
        /// How many of those that have arrived became history, and how many were refused.
        var lateCounts = (taken: 0, refused: 0)

        var head: JournalHead { records.last?.head ?? base }

        /// Takes a group, if it fits.
        mutating func take(_ record: JournalRecord, after head: JournalHead) -> JournalOutcome {
            // The same bytes again: they are there.
            if records.last == record { return .appended }
            guard self.head == head else { return .conflict }
            records.append(record)
            needsEpoch = false
            return .appended
        }

        /// Takes what arrives now, what was sent last first.
        mutating func receiveLate() {
            for index in late.indices { late[index].count -= 1 }
            let arrived = late.filter { $0.count < 0 }.reversed()
            late.removeAll { $0.count < 0 }
            for (record, head, _) in arrived {
                let fits = self.head == head && (!needsEpoch || record.beginsEpoch)
                if fits { _ = take(record, after: head) }
                lateCounts.taken += fits ? 1 : 0
                lateCounts.refused += fits ? 0 : 1
            }
        }

        mutating func endTurn() {
            holder = nil
            for semaphore in waiting { semaphore.signal() }
            waiting = []
        }
    }

    /// For how long an engine may keep others waiting. Then it loses the turn, as one that has died.
    private static let turnTimeMax = DispatchTimeInterval.seconds(5)

    let databaseID: ObjectID
    private let state: Mutex<State>

    /// - Parameter base: the group after which the journal begins, with an epoch; nil for the beginning.
    init(databaseID: ObjectID, base: JournalHead? = nil) {
        self.databaseID = databaseID
        state = Mutex(State(base: base ?? JournalHead(of: databaseID), needsEpoch: base != nil))
    }

    /// Where the database went when the journal was sealed; nil if it was not.
    var placeOfSealed: String? { state.withLock { $0.placeOfSealed } }

    /// Lets nothing be appended any more.
    ///
    /// - Returns: the last group.
    func seal(for place: String) -> JournalHead {
        state.withLock { state in
            state.placeOfSealed = place
            return state.head
        }
    }

    var records: [JournalRecord] { state.withLock { $0.records } }

    var head: JournalHead { state.withLock { $0.head } }

    /// - Throws: ``StorageError/Code/logTrimmed``.
    func records(after position: UInt64, countMax: Int) throws -> [JournalRecord] {
        try state.withLock { state in
            guard position >= state.base.position else {
                throw StorageError(.logTrimmed, "the journal no longer has the group after position \(position)")
            }
            let start = Int(clamping: position - state.base.position)
            return start < state.records.count ? Array(state.records[start...].prefix(countMax)) : []
        }
    }

    /// Whether a group is in the journal. One that is trimmed counts as there.
    func continues(_ head: JournalHead) -> Bool {
        state.withLock { state in
            guard head.position >= state.base.position else { return true }
            if head.position == state.base.position { return head == state.base }
            let index = Int(clamping: head.position - state.base.position - 1)
            return index < state.records.count && state.records[index].head == head
        }
    }

    /// Removes the groups before a position, and keeps that one.
    ///
    /// - Returns: their number.
    func trim(before position: UInt64) -> Int {
        state.withLock { state in
            let count = state.records.prefix { $0.head.position < position }.count
            guard count > 0 else { return 0 }
            state.base = state.records[count - 1].head
            state.records.removeFirst(count)
            return count
        }
    }

    /// Whether a group may not be appended, since one with an epoch has to come first.
    func mustBeginEpoch(before record: JournalRecord) -> Bool {
        state.withLock { $0.needsEpoch } && !record.beginsEpoch
    }

    /// Appends a group, if it fits, once no other engine has the turn. The engine's own turn ends.
    func append(_ record: JournalRecord, after head: JournalHead, by engine: ObjectIdentifier) -> JournalOutcome {
        whenFree(for: engine) { state in
            defer { if state.holder == engine { state.endTurn() } }
            // What is late waits for the end of a turn.
            if state.holder == nil { state.receiveLate() }
            return state.take(record, after: head)
        }
    }

    /// Lets a group arrive later, on its own.
    ///
    /// - Parameter count: after how many further appends.
    func delay(_ record: JournalRecord, after head: JournalHead, by count: Int) {
        state.withLock { $0.late.append((record, head, count)) }
    }

    var lateCounts: (taken: Int, refused: Int) { state.withLock { $0.lateCounts } }

    /// Drops the last groups. The next one has to begin an epoch.
    func fork(losing count: Int) {
        state.withLock { state in
            state.records.removeLast(min(count, state.records.count))
            state.needsEpoch = true
        }
    }

    /// Drops the last groups and appends one with a new epoch.
    func fork(losing count: Int, epoch: UInt64) throws {
        try state.withLock { state in
            state.records.removeLast(min(count, state.records.count))
            let last = try state.records.last.map { try JournalGroup.decode($0.bytes, wantsValues: false) }
            let version = last.map { group in group.transactions.reduce(group.baseVersion) { count, _ in count + 1 } }
            let group = JournalGroup(
                baseVersion: version ?? 0,
                acceptedAt: last?.acceptedAt ?? Timestamp(microseconds: 0), steps: [.epoch(epoch)])
            state.records.append(JournalRecord(group, after: state.head))
        }
    }

    // MARK: Turns

    func hasTurn(_ engine: ObjectIdentifier) -> Bool { state.withLock { $0.holder == engine } }

    func takeTurn(_ engine: ObjectIdentifier) { whenFree(for: engine) { $0.holder = engine } }

    func endTurn(_ engine: ObjectIdentifier) { state.withLock { if $0.holder == engine { $0.endTurn() } } }

    /// Runs `body` once no other engine has the turn.
    private func whenFree<Result: Sendable>(
        for engine: ObjectIdentifier, _ body: @Sendable (inout State) -> Result
    ) -> Result {
        while true {
            let (result, end, holder) = state.withLock { state -> (Result?, DispatchSemaphore?, ObjectIdentifier?) in
                guard let holder = state.holder, holder != engine else { return (body(&state), nil, nil) }
                let end = DispatchSemaphore(value: 0)
                state.waiting.append(end)
                return (nil, end, holder)
            }
            if let result { return result }
            if let end, end.wait(timeout: .now() + Self.turnTimeMax) == .timedOut {
                state.withLock { if $0.holder == holder { $0.endTurn() } }
            }
        }
    }
}
