internal import Dispatch
internal import Synchronization

/// Keeps the status of a store's session for all threads, and tells listeners of its changes.
final class SessionFeed: Sendable {
    private struct State {
        var status = SessionStatus.stopped
        var listeners: [ObjectIdentifier: SessionListener] = [:]
        var isClosed = false
    }

    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// - Parameter queue: serial; handlers without a queue of their own are called on it.
    init(queue: DispatchQueue) { self.queue = queue }

    /// The status after the last event.
    var status: SessionStatus { state.withLock { $0.status } }

    /// Tells the listeners of the status, if it is another than before.
    func publish(_ status: SessionStatus) {
        state.withLock { state in
            guard state.status != status, !state.isClosed else { return }
            let change = SessionChange(old: state.status, new: status)
            state.status = status
            // Under the lock, so that every listener gets the changes in their order. Listeners only note them.
            for listener in state.listeners.values { listener.note(change) }
        }
    }

    /// Tells the listeners that the store is closed, and that no more will come.
    func close() {
        publish(.stopped)
        let listeners = state.withLock { state in
            defer { state.listeners = [:] }
            state.isClosed = true
            return state.listeners.values
        }
        for listener in listeners { listener.finish() }
    }

    /// Adds a listener. The first change that it gets is the status of now.
    func listen() -> SessionListener {
        let listener = SessionListener()
        let isClosed = state.withLock { state in
            listener.note(SessionChange(old: nil, new: state.status))
            if !state.isClosed { state.listeners[ObjectIdentifier(listener)] = listener }
            return state.isClosed
        }
        if isClosed { listener.finish() }
        return listener
    }

    /// Removes a listener.
    func remove(_ listener: SessionListener) {
        _ = state.withLock { $0.listeners.removeValue(forKey: ObjectIdentifier(listener)) }
        listener.finish()
    }

    /// Calls a handler with each change, one at a time, until the token is stopped or released.
    ///
    /// - Parameter queue: where the handler is called; nil for the store's queue of callbacks.
    func observe(on queue: DispatchQueue?, _ handler: @escaping @Sendable (SessionChange) -> Void) -> HandlerToken {
        let gate = DeliveryGate()
        let queue = queue ?? self.queue
        let listener = listen()
        listener.begin {
            queue.async {
                while let change = listener.take() { gate.deliver { handler(change) } }
            }
        }
        return HandlerToken { [weak self] in
            self?.remove(listener)
            gate.close()
        }
    }
}
