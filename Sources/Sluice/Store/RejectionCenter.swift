package import Dispatch
internal import Synchronization

/// Tells of refused writes, and keeps them while there is nobody to be told.
package final class RejectionCenter: Sendable {
    private struct State {
        var handlers: [@Sendable (WriteRejection) -> Void] = []
        var untold: [WriteRejection] = []
    }

    private static let untoldCountMax = 1_000

    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// - Parameter queue: serial; handlers are called on it.
    package init(queue: DispatchQueue) { self.queue = queue }

    package func add(_ handler: @escaping @Sendable (WriteRejection) -> Void) {
        let untold = state.withLock { state in
            state.handlers.append(handler)
            defer { state.untold = [] }
            return state.untold
        }
        guard !untold.isEmpty else { return }
        queue.async { for rejection in untold { handler(rejection) } }
    }

    package func report(_ rejection: WriteRejection) {
        let handlers = state.withLock { state in
            if state.handlers.isEmpty {
                if state.untold.count == Self.untoldCountMax { state.untold.removeFirst() }
                state.untold.append(rejection)
            }
            return state.handlers
        }
        guard !handlers.isEmpty else { return }
        queue.async { for handler in handlers { handler(rejection) } }
    }
}
