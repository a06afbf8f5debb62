internal import Synchronization

/// The changes of a session's status that one listener has not taken yet.
final class SessionListener: Sendable {
    private struct State {
        var pending: [SessionChange] = []
        var isFinished = false
        var wake: (@Sendable () -> Void)?
    }

    /// How many changes are kept apart for a listener that takes none. Later ones are joined to the last.
    static let pendingCountMax = 64

    private let state = Mutex(State())

    /// Calls `wake` whenever there is something to take where there was nothing, now too, and when no more will come.
    /// It must not block.
    func begin(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
        wake()
    }

    /// Adds a change.
    func note(_ change: SessionChange) {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.isFinished else { return nil }
            guard state.pending.count < Self.pendingCountMax else {
                let last = state.pending.removeLast()
                state.pending.append(SessionChange(old: last.old, new: change.new))
                return nil
            }
            state.pending.append(change)
            return state.pending.count == 1 ? state.wake : nil
        }
        wake?()
    }

    /// Removes the first change; nil if there is none.
    func take() -> SessionChange? {
        state.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() }
    }

    /// Whether no more changes will come than there are to take.
    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Notes that no more changes will come.
    func finish() {
        let wake = state.withLock { state in
            defer { state.wake = nil }
            state.isFinished = true
            return state.wake
        }
        wake?()
    }
}
