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

    package func add(_ handler: @escaping @Sendable (WriteRejection) -> Void) -> RejectionToken {
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
        return RejectionToken { [weak self] in
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

/// Keeps a handler of ``Store/onWriteRejected(_:)`` registered as long as the token exists.
public final class RejectionToken: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    init(_ end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

    /// Removes the handler. It is not called after this returns, unless the handler itself makes the call. Calling
    /// `stop()` again does nothing.
    public func stop() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }

    deinit { stop() }
}
