internal import Synchronization

/// Wakes a job when something was committed. It ends when nobody has it any more.
final class Arrivals: Sendable {
    private let bell = Bell()
    private let stop: @Sendable () -> Void

    init(_ host: any JobHost) { stop = host.ring { [bell] in bell.ring() } }

    /// Waits until something was committed since the last call that ended so, or the task is cancelled. One task at a time
    /// waits.
    func next() async { await bell.next() }

    func end() { stop() }

    deinit { stop() }

    /// One arrival stands for all: the job looks at everything. A wait that is cancelled leaves those that follow alone.
    private final class Bell: Sendable {
        private struct State {
            var hasRung = false
            var waiting: (number: UInt64, continuation: AsyncStream<Void>.Continuation)?
            var lastNumber: UInt64 = 0
        }

        private let state = Mutex(State())

        func ring() {
            state.withLock { state in
                state.hasRung = true
                state.waiting?.continuation.finish()
            }
        }

        func next() async {
            let (stream, continuation) = AsyncStream<Void>.makeStream()
            let number = state.withLock { state -> UInt64? in
                guard !state.hasRung else {
                    state.hasRung = false
                    return nil
                }
                state.lastNumber += 1
                state.waiting = (state.lastNumber, continuation)
                return state.lastNumber
            }
            guard let number else { return }
            for await _ in stream {}
            state.withLock { state in
                guard state.waiting?.number == number else { return }
                state.waiting = nil
                if !Task.isCancelled { state.hasRung = false }
            }
        }
    }
}
