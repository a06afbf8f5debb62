internal import SluiceStorage
internal import Synchronization

/// Wakes jobs of this process when groups have become durable in a database, whichever engine has it open.
final class CommitBells: Sendable {
    private struct State {
        var bells: [UInt64: @Sendable () -> Void] = [:]
        var lastNumber: UInt64 = 0
        /// Where the database stood in its journal when they were rung last.
        var position: UInt64?
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

    /// Rings if the database has moved since the last time.
    func ring(at position: UInt64) {
        let bells = state.withLock { state -> [@Sendable () -> Void] in
            guard position != state.position else { return [] }
            state.position = position
            return Array(state.bells.values)
        }
        for bell in bells { bell() }
    }

    /// Rings whatever has happened.
    func ringAnyway() { for bell in state.withLock({ Array($0.bells.values) }) { bell() } }
}
