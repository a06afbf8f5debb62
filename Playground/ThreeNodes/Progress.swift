import Sluice
import Synchronization

/// How many departures all writers have written, and the longest that one took.
final class Progress: Sendable {
    private struct State {
        var count = 0
        var longest = Duration.zero
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let total: Int

    init(total: Int) { self.total = total }

    var longest: Duration { state.withLock { $0.longest } }

    func note(_ time: Duration) {
        let met = state.withLock { state in
            state.count += 1
            state.longest = max(state.longest, time)
            defer { state.waiting.removeAll { $0.count <= state.count } }
            return state.waiting.filter { $0.count <= state.count }
        }
        for waiter in met { waiter.continuation.resume() }
    }

    /// Waits until so many are written.
    func reached(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                guard state.count < count else { return true }
                state.waiting.append((min(count, total), continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }
}

/// Observes all departures and airports of a store, which keeps them in sync.
final class Watcher {
    private let store: Store
    private let observations: [Task<Void, any Error>]

    init(_ store: Store) {
        self.store = store
        observations = [
            Task { for try await _ in store.objects(Departure.self).changes {} },
            Task { for try await _ in store.objects(Airport.self).changes {} },
        ]
    }

    /// Waits until the store has so many departures, and their counts.
    func waits(for count: Int) async throws {
        for try await change in store.objects(Departure.self).changes where change.results.count == count { break }
        for try await change in store.objects(Airport.self).changes {
            let counted = change.results.reduce(0) { $0 + $1.departures }
            if counted == count { break }
        }
    }

    func stop() { for observation in observations { observation.cancel() } }
}
