internal import Synchronization

/// Asks several databases at once what they are and have done. One that is too busy to say counts as it last was.
final class DatabaseSurvey: Sendable {
    private struct State {
        var samples: [String: DatabaseSample] = [:]
        var completion: (@Sendable (DatabaseSample) -> Void)?
    }

    private let workers: [DatabaseWorker]
    private let past: DatabaseSample
    private let state: Mutex<State>

    /// - Parameters:
    ///   - past: what is added to what the databases say.
    ///   - completion: called once, on any thread, with all of it together.
    init(
        of workers: [DatabaseWorker], _ past: DatabaseSample,
        completion: @escaping @Sendable (DatabaseSample) -> Void
    ) {
        self.workers = workers
        self.past = past
        state = Mutex(State(completion: completion))
    }

    func begin() {
        guard !workers.isEmpty else { return end() }
        for worker in workers {
            worker.sample { [self] sample in
                let isLast = state.withLock { state in
                    state.samples[worker.name] = sample
                    return state.samples.count == workers.count
                }
                if isLast { end() }
            }
        }
    }

    /// Waits no longer. A second call does nothing.
    func end() {
        let (samples, completion) = state.withLock { state in
            defer { state.completion = nil }
            return (state.samples, state.completion)
        }
        guard let completion else { return }
        completion(workers.reduce(into: past) { $0 += samples[$1.name] ?? $1.latestSample })
    }
}
