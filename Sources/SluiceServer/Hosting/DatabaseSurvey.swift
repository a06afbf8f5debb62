internal import Synchronization

/// What several databases have answered that were asked at once.
struct DatabaseAnswers<Answer: Sendable>: Sendable {
    /// The answers by the names of the databases. One that is not open, or cannot answer, has none.
    var answers: [String: Answer] = [:]
    /// The databases that were too busy to answer in time, sorted.
    var silent: [String] = []
}

/// Asks several databases at once, and waits for those that are busy only as long as it may.
final class DatabaseSurvey<Answer: Sendable>: Sendable {
    private struct State {
        var answers: [String: Answer?] = [:]
        var completion: (@Sendable (DatabaseAnswers<Answer>) -> Void)?
    }

    private let workers: [DatabaseWorker]
    private let state: Mutex<State>

    /// - Parameter completion: called once, on any thread.
    init(of workers: [DatabaseWorker], completion: @escaping @Sendable (DatabaseAnswers<Answer>) -> Void) {
        self.workers = workers
        state = Mutex(State(completion: completion))
    }

    /// - Parameter ask: asks a database, which calls back with its answer; nil for none.
    func begin(_ ask: (DatabaseWorker, @escaping @Sendable (Answer?) -> Void) -> Void) {
        guard !workers.isEmpty else { return end() }
        for worker in workers {
            ask(worker) { [self] answer in
                let isLast = state.withLock { state in
                    state.answers.updateValue(answer, forKey: worker.name)
                    return state.answers.count == workers.count
                }
                if isLast { end() }
            }
        }
    }

    /// Waits no longer. A second call does nothing.
    func end() {
        let (answers, completion) = state.withLock { state in
            defer { state.completion = nil }
            return (state.answers, state.completion)
        }
        completion?(
            DatabaseAnswers(
                answers: answers.compactMapValues { $0 },
                silent: workers.map(\.name).filter { answers[$0] == nil }.sorted()))
    }
}
