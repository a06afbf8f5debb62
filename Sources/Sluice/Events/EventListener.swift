internal import Synchronization

/// The events that one listener has not taken yet. There are never more than a fixed number: later ones are joined to
/// the last.
package final class EventListener<Event: Sendable>: Sendable {
    private struct State {
        var pending: [Event] = []
        var isFinished = false
        var wake: (@Sendable () -> Void)?
    }

    private let pendingCountMax: Int
    private let join: @Sendable (_ last: Event, _ next: Event) -> Event
    private let state = Mutex(State())

    /// - Parameters:
    ///   - pendingCountMax: how many events are kept apart for a listener that takes none; above zero.
    ///   - join: makes one event of the last that is kept and a further one.
    package init(pendingCountMax: Int, join: @escaping @Sendable (_ last: Event, _ next: Event) -> Event) {
        self.pendingCountMax = pendingCountMax
        self.join = join
    }

    /// Calls `wake` whenever there is something to take where there was nothing, now too, and when no more will come.
    /// It must not block.
    func begin(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
        wake()
    }

    /// Adds an event.
    package func note(_ event: Event) {
        let wake = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.isFinished else { return nil }
            guard state.pending.count < pendingCountMax else {
                state.pending.append(join(state.pending.removeLast(), event))
                return nil
            }
            state.pending.append(event)
            return state.pending.count == 1 ? state.wake : nil
        }
        wake?()
    }

    /// Removes the first event; nil if there is none.
    package func take() -> Event? {
        state.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() }
    }

    /// Whether there is an event to take.
    var hasPending: Bool { state.withLock { !$0.pending.isEmpty } }

    /// Whether no more events will come than there are to take.
    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Notes that no more events will come.
    func finish() {
        let wake = state.withLock { state in
            defer { state.wake = nil }
            state.isFinished = true
            return state.wake
        }
        wake?()
    }
}

extension EventListener {
    /// A listener that gets the newest event only.
    static var ofNewest: EventListener { EventListener(pendingCountMax: 1) { _, next in next } }
}
