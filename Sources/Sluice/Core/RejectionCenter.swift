package import Dispatch
internal import Synchronization

/// Reports rejected writes to handlers, and keeps the latest while there is no handler.
package final class RejectionCenter: Sendable {
    private struct State {
        var handlers: [(number: Int, handler: @Sendable (WriteRejection) -> Void)] = []
        var unreported: [WriteRejection] = []
        var nextNumber = 0
        var onReported: (@Sendable (WriteRejection) -> Void)?
    }

    private static let unreportedCountMax = 1_000

    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// - Parameter queue: serial; handlers are called on it.
    package init(queue: DispatchQueue) { self.queue = queue }

    /// Called on the queue for each rejection that a handler was told of.
    package var onReported: (@Sendable (WriteRejection) -> Void)? {
        get { state.withLock(\.onReported) }
        set { state.withLock { $0.onReported = newValue } }
    }

    package func add(_ handler: @escaping @Sendable (WriteRejection) -> Void) -> HandlerToken {
        let gate = DeliveryGate()
        let gated: @Sendable (WriteRejection) -> Void = { rejection in gate.deliver { handler(rejection) } }
        let (number, unreported) = state.withLock { state in
            state.nextNumber += 1
            state.handlers.append((state.nextNumber, gated))
            defer { state.unreported = [] }
            return (state.nextNumber, state.unreported)
        }
        if !unreported.isEmpty {
            queue.async { [self] in
                for rejection in unreported {
                    gated(rejection)
                    onReported?(rejection)
                }
            }
        }
        return HandlerToken { [weak self] in
            self?.state.withLock { $0.handlers.removeAll { $0.number == number } }
            gate.close()
        }
    }

    package func report(_ rejection: WriteRejection) {
        let handlers = state.withLock { state in
            if state.handlers.isEmpty {
                if state.unreported.count == Self.unreportedCountMax { state.unreported.removeFirst() }
                state.unreported.append(rejection)
            }
            return state.handlers.map(\.handler)
        }
        guard !handlers.isEmpty else { return }
        queue.async { [self] in
            for handler in handlers { handler(rejection) }
            onReported?(rejection)
        }
    }
}
