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

    /// Makes a journal without groups.
    package convenience init(databaseID: ObjectID) { self.init(SharedRecords(databaseID: databaseID)) }

    private init(_ shared: SharedRecords) {
        self.shared = shared
        // Nobody waits in earnest: each wait is over at once, and has taken its time.
        let ticks = Ticks()
        patience = AppendPatience(now: { ticks.now }, wait: { ticks.advance($0) })
    }

    /// The same journal as another engine reaches it, with faults of its own.
    package func another() -> MemoryJournal { MemoryJournal(shared) }

    package var databaseID: ObjectID { shared.databaseID }

    /// What happens to the next appends, one after the other.
    package var faults: [Fault] {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// How often the engine has tried to append.
    package var appendCount: Int { state.withLock { $0.appendCount } }

    package var records: [JournalRecord] { shared.records }

    package var head: JournalHead { shared.head }

    package func append(_ record: JournalRecord, after head: JournalHead) throws -> JournalOutcome {
        switch state.withLock({ $0.takeFault() }) {
        case .losesAnswer?:
            _ = shared.append(record, after: head, by: engine)
            return .unknown
        case .losesGroup?, .silent?: return .unknown
        case .fails?: throw StorageError(.io, "the journal cannot be reached")
        case .isOvertaken(let body)?:
            guard shared.hasTurn(engine) else {
                try body()
                return shared.append(record, after: head, by: engine)
            }
            // The other one waits for the turn to end.
            let outcome = shared.append(record, after: head, by: engine)
            try body()
            return outcome
        case nil: return shared.append(record, after: head, by: engine)
        }
    }

    package func records(after position: UInt64, countMax: Int) throws -> [JournalRecord] {
        try checkItAnswers()
        return shared.records(after: position, countMax: countMax)
    }

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
