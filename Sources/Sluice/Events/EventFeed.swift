internal import Synchronization

/// Tells everybody who listens of each event.
final class EventFeed<Event: Sendable>: Sendable {
    private struct State {
        var listeners: [ObjectIdentifier: EventListener<Event>] = [:]
        var isClosed = false
    }

    private let makeListener: @Sendable () -> EventListener<Event>
    private let state = Mutex(State())

    /// - Parameter makeListener: makes a listener; it says how many events are kept for one that is slow.
    init(_ makeListener: @escaping @Sendable () -> EventListener<Event>) { self.makeListener = makeListener }

    /// Whether anybody listens.
    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    /// Adds a listener.
    ///
    /// - Parameter first: what it is told first; nil for nothing.
    func listen(first: Event? = nil) -> EventMembership<Event> {
        let listener = makeListener()
        if let first { listener.note(first) }
        let isClosed = state.withLock { state in
            if !state.isClosed { state.listeners[ObjectIdentifier(listener)] = listener }
            return state.isClosed
        }
        if isClosed { listener.finish() }
        return EventMembership(listener) { [weak self, weak listener] in
            guard let self, let listener else { return }
            _ = state.withLock { $0.listeners.removeValue(forKey: ObjectIdentifier(listener)) }
        }
    }

    /// The events from when somebody listens.
    var source: EventSource<Event> { EventSource { [self] in listen() } }

    /// Tells everybody who listens.
    func notify(_ event: Event) {
        // Under the lock, so that every listener gets the events in their order. Listeners only note them.
        state.withLock { state in
            for listener in state.listeners.values { listener.note(event) }
        }
    }

    /// Tells everybody that no more events will come.
    func close() {
        let listeners = state.withLock { state in
            defer { state.listeners = [:] }
            state.isClosed = true
            return state.listeners.values
        }
        for listener in listeners { listener.finish() }
    }
}
