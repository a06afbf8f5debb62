package import SluiceModel
package import SluiceStorage
internal import Synchronization

/// A journal in memory that several servers of one process append to and follow, as one of them reaches it. It may lose
/// groups and answers. Any thread may use it.
package final class MemoryJournal: Journal, Sendable {
    /// What happens to one append.
    package enum Fault: Sendable {
        /// The journal takes the group, if it fits, and its answer is lost.
        case losesAnswer
        /// The group is lost, and nobody knows so.
        case losesGroup
        /// Nobody knows whether the group is there, and it arrives after some further appends: it is refused then, or
        /// becomes history for all.
        case delaysGroup(by: Int)
        /// The journal takes the group, if it fits, its answer is lost, and the group arrives once more after some further
        /// appends.
        case repeatsGroup(after: Int)
        /// The journal cannot be reached, and surely has not taken the group.
        case fails
        /// Another engine appends first, by what runs here; after the group if this engine has the turn.
        case isOvertaken(by: @Sendable () throws -> Void)
        /// The journal does not answer, and takes nothing. This lasts until ``MemoryJournal/faults`` are set anew.
        case silent
    }

    private struct State {
        var faults: [Fault] = []
        var appendCount = 0

        /// Takes the fault of the next append.
        mutating func takeFault() -> Fault? {
            appendCount += 1
            guard let first = faults.first else { return nil }
            if case .silent = first {} else { faults.removeFirst() }
            return first
        }
    }

    package let patience: AppendPatience
    private let shared: SharedRecords
    private let state = Mutex(State())
    /// Called when the journal has taken a group.
    private let onAppend: @Sendable () -> Void

    /// Makes a journal without groups.
    package convenience init(databaseID: ObjectID) { self.init(SharedRecords(databaseID: databaseID)) }

    /// Makes a journal that begins after a group.
    convenience init(databaseID: ObjectID, base: JournalHead) {
        self.init(SharedRecords(databaseID: databaseID, base: base))
    }

    private init(_ shared: SharedRecords, onAppend: @escaping @Sendable () -> Void = {}) {
        self.shared = shared
        self.onAppend = onAppend
        // Nobody waits in earnest: each wait is over at once, and has taken its time.
        let ticks = Ticks()
        patience = AppendPatience(now: { ticks.now }, wait: { ticks.advance($0) })
    }

    deinit { shared.endTurn(engine) }

    /// The same journal as another engine reaches it, with faults of its own.
    ///
    /// - Parameter onAppend: called when the journal has taken a group of that engine.
    package func another(onAppend: @escaping @Sendable () -> Void = {}) -> MemoryJournal {
        MemoryJournal(shared, onAppend: onAppend)
    }

    package var databaseID: ObjectID { shared.databaseID }

    package var isSealed: Bool { placeOfSealed != nil }

    /// Where the database went when the journal was sealed; nil if it was not.
    var placeOfSealed: String? { shared.placeOfSealed }

    /// Lets nothing be appended any more.
    ///
    /// - Returns: the last group.
    func seal(for place: String) -> JournalHead { shared.seal(for: place) }

    /// What happens to the next appends, one after the other.
    package var faults: [Fault] {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// How often the engine has tried to append.
    package var appendCount: Int { state.withLock { $0.appendCount } }

    /// How many groups that arrived late became history, and how many were refused.
    package var lateCounts: (taken: Int, refused: Int) { shared.lateCounts }

    package var records: [JournalRecord] { shared.records }

    package var head: JournalHead { shared.head }

    package func append(
        _ record: JournalRecord, after head: JournalHead, holding duty: HeldDuty?
    ) throws -> JournalOutcome {
        if let duty, !duty.isHeld { throw DutyLost() }
        switch state.withLock({ $0.takeFault() }) {
        case .losesAnswer?:
            _ = try take(record, after: head)
            return .unknown
        case .losesGroup?, .silent?: return .unknown
        case .delaysGroup(let count)?:
            shared.delay(record, after: head, by: count)
            return .unknown
        case .repeatsGroup(let count)?:
            _ = try take(record, after: head)
            shared.delay(record, after: head, by: count)
            return .unknown
        case .fails?: throw StorageError(.io, "the journal cannot be reached")
        case .isOvertaken(let body)?:
            guard shared.hasTurn(engine) else {
                try body()
                return try take(record, after: head)
            }
            // The other one waits for the turn to end.
            let outcome = try take(record, after: head)
            try body()
            return outcome
        case nil: return try take(record, after: head)
        }
    }

    private func take(_ record: JournalRecord, after head: JournalHead) throws -> JournalOutcome {
        guard !isSealed else { throw StorageError(.detached, "the database was detached from the cluster") }
        // As PostgreSQL, which says first that others were quicker.
        if shared.head == head, shared.mustBeginEpoch(before: record) { throw JournalHistoryChanged() }
        let outcome = shared.append(record, after: head, by: engine)
        if outcome == .appended { onAppend() }
        return outcome
    }

    /// Begins another history, as a journal does that was restored or failed over: the last groups are gone, and an epoch
    /// begins after those that are left.
    ///
    /// - Parameter count: how many groups are lost.
    package func fork(losing count: Int, epoch: UInt64) throws { try shared.fork(losing: count, epoch: epoch) }

    /// Begins another history as ``fork(losing:epoch:)`` does, and leaves it to whoever appends next to begin the epoch.
    package func fork(losing count: Int) { shared.fork(losing: count) }

    package func records(after position: UInt64, countMax: Int) throws -> [JournalRecord] {
        try checkItAnswers()
        return try shared.records(after: position, countMax: countMax)
    }

    package func continues(_ head: JournalHead) throws -> Bool {
        try checkItAnswers()
        return shared.continues(head)
    }

    /// Removes the groups before a position, and keeps that one.
    ///
    /// - Returns: their number.
    @discardableResult
    package func trim(before position: UInt64) -> Int { shared.trim(before: position) }

    package func takeTurn() throws {
        try checkItAnswers()
        shared.takeTurn(engine)
    }

    package func endTurn() { shared.endTurn(engine) }

    private var engine: ObjectIdentifier { ObjectIdentifier(self) }

    private func checkItAnswers() throws {
        if case .silent? = faults.first { throw StorageError(.busy, "the journal does not answer") }
    }
}

/// A clock that only waiting moves.
private final class Ticks: Sendable {
    private let microseconds = Mutex<Int64>(0)

    var now: Timestamp { Timestamp(microseconds: microseconds.withLock { $0 }) }

    func advance(_ time: Int64) { microseconds.withLock { $0 += time } }
}
