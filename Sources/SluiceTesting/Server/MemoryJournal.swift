package import SluiceModel
package import SluiceStorage
internal import Synchronization

/// A journal in memory that several servers of one process append to and follow. It may lose groups and answers.
package final class MemoryJournal: Journal, Sendable {
    /// What happens to one append.
    package enum Fault: Sendable {
        /// The journal takes the group, if it fits, and its answer is lost.
        case losesAnswer
        /// The group is lost, and nobody knows so.
        case losesGroup
        /// The journal cannot be reached, and surely has not taken the group.
        case fails
        /// Another engine appends first, by what runs here.
        case isOvertaken(by: @Sendable () throws -> Void)
    }

    private struct State {
        var records: [JournalRecord] = []
        var faults: [Fault] = []
        var appendCount = 0
    }

    package let databaseID: ObjectID
    package let patience: AppendPatience
    private let state = Mutex(State())

    package init(databaseID: ObjectID) {
        self.databaseID = databaseID
        // Nobody waits in earnest: each wait is over at once, and has taken its time.
        let ticks = Ticks()
        patience = AppendPatience(now: { ticks.now }, wait: { ticks.advance($0) })
    }

    /// What happens to the next appends, one after the other.
    package var faults: [Fault] {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// How often an engine has tried to append.
    package var appendCount: Int { state.withLock { $0.appendCount } }

    package var records: [JournalRecord] { state.withLock { $0.records } }

    package var head: JournalHead { state.withLock { head(of: $0) } }

    private func head(of state: State) -> JournalHead { state.records.last?.head ?? JournalHead(of: databaseID) }

    package func append(_ record: JournalRecord, after head: JournalHead) throws -> JournalOutcome {
        let fault = state.withLock { state -> Fault? in
            state.appendCount += 1
            return state.faults.isEmpty ? nil : state.faults.removeFirst()
        }
        switch fault {
        case .losesAnswer?:
            _ = take(record, after: head)
            return .unknown
        case .losesGroup?: return .unknown
        case .fails?: throw StorageError(.io, "the journal cannot be reached")
        case .isOvertaken(let body)?:
            try body()
            return take(record, after: head)
        case nil: return take(record, after: head)
        }
    }

    private func take(_ record: JournalRecord, after head: JournalHead) -> JournalOutcome {
        state.withLock { state in
            // The same bytes again: they are there.
            if state.records.last == record { return .appended }
            guard self.head(of: state) == head else { return .conflict }
            state.records.append(record)
            return .appended
        }
    }

    package func records(after position: UInt64, countMax: Int) -> [JournalRecord] {
        state.withLock { state in
            let start = Int(clamping: position)
            return start < state.records.count ? Array(state.records[start...].prefix(countMax)) : []
        }
    }
}

/// A clock that only waiting moves.
private final class Ticks: Sendable {
    private let microseconds = Mutex<Int64>(0)

    var now: Timestamp { Timestamp(microseconds: microseconds.withLock { $0 }) }

    func advance(_ time: Int64) { microseconds.withLock { $0 += time } }
}
