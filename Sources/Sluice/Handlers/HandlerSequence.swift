package import Dispatch
internal import Synchronization

/// Where the handlers of a store are called.
package enum HandlerPlace: Sendable {
    /// Wherever the store has a thread.
    case pool(HandlerPool)
    /// On a queue of the program.
    case queue(DispatchQueue)

    func run(_ call: @escaping @Sendable () -> Void) {
        switch self {
        case .pool(let pool): pool.run(call)
        case .queue(let queue): queue.async(execute: call)
        }
    }
}

/// Calls that are made one after the other, in their order, wherever they are made. Others who use the place have their
/// turn between any two.
package final class HandlerSequence: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let place: HandlerPlace
    private let state = Mutex(State())

    package init(_ place: HandlerPlace) { self.place = place }

    package func run(_ call: @escaping @Sendable () -> Void) {
        let begins = state.withLock { state in
            state.waiting.append(call)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { place.run { self.step() } }
    }

    private func step() {
        state.withLock { $0.waiting.removeFirst() }()
        let goesOn = state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            return state.isRunning
        }
        if goesOn { place.run { self.step() } }
    }

    /// Waits until the calls before this one have returned.
    package func pass() async {
        await withCheckedContinuation { continuation in run { continuation.resume() } }
    }
}
