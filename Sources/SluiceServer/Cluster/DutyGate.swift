internal import SluiceStorage
internal import Synchronization

/// Lets one task of this process at a time have a duty, in the order in which they come.
final class DutyGate: Sendable {
    private struct State {
        var taken: Set<Duty> = []
        var waiting: [Duty: [(id: UInt64, continuation: CheckedContinuation<Bool, Never>)]] = [:]
        var cancelled: Set<UInt64> = []
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Waits until the duty is free, and takes it.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    func enter(_ duty: Duty) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let hasEntered = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.cancelled.remove(id) != nil { return false }
                    if state.taken.insert(duty).inserted { return true }
                    state.waiting[duty, default: []].append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            cancel(id, duty)
        }
        state.withLock { _ = $0.cancelled.remove(id) }
        guard hasEntered else { throw CancellationError() }
    }

    private func cancel(_ id: UInt64, _ duty: Duty) {
        let waiting = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let index = state.waiting[duty]?.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return nil
            }
            return state.waiting[duty]?.remove(at: index).continuation
        }
        waiting?.resume(returning: false)
    }

    /// Gives the duty to the next task that waits for it.
    func leave(_ duty: Duty) {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let waiting = state.waiting[duty], !waiting.isEmpty else {
                state.taken.remove(duty)
                state.waiting[duty] = nil
                return nil
            }
            return state.waiting[duty]?.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
