internal import SluiceStorage
internal import Synchronization

/// Wakes jobs of this process when groups have become durable in a database, and when its users may read something else,
/// whichever engine has it open.
final class CommitBells: Sendable {
    /// What jobs wait for a change of.
    struct Moment: Hashable, Sendable {
        /// Where the database stands in its journal.
        let position: UInt64
        /// Another number since rights have changed other than by a commit.
        let rights: UInt64
    }

    private struct State {
        var bells: [UInt64: @Sendable () -> Void] = [:]
        var lastNumber: UInt64 = 0
        /// When they were rung last.
        var moment: Moment?
    }

    private let state = Mutex(State())

    /// Has a closure called after groups, from the database's queue.
    ///
    /// - Returns: a number for ``remove(_:)``.
    func add(_ bell: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.bells[state.lastNumber] = bell
            return state.lastNumber
        }
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.bells.removeValue(forKey: number) } }

    var isEmpty: Bool { state.withLock(\.bells.isEmpty) }

    /// Rings if it is another moment than the last time.
    func ring(at moment: Moment) {
        let bells = state.withLock { state -> [@Sendable () -> Void] in
            guard moment != state.moment else { return [] }
            state.moment = moment
            return Array(state.bells.values)
        }
        for bell in bells { bell() }
    }

    /// Rings whatever has happened.
    func ringAnyway() { for bell in state.withLock({ Array($0.bells.values) }) { bell() } }
}
