internal import Synchronization

/// Keeps the status of a store's session for all threads, and tells listeners of its changes.
final class SessionFeed: Sendable {
    private let feed = EventFeed<SessionChange> {
        EventListener(pendingCountMax: SessionFeed.pendingCountMax) { SessionChange(old: $0.old, new: $1.new) }
    }
    private let state = Mutex(SessionStatus.stopped)

    /// How many changes are kept apart for a listener that takes none. Later ones are joined to the last.
    private static let pendingCountMax = 64

    /// The status after the last event.
    var status: SessionStatus { state.withLock { $0 } }

    /// The changes. The first that a listener gets is the status of now.
    var changes: EventSource<SessionChange> {
        EventSource { [self] in state.withLock { feed.listen(first: SessionChange(old: nil, new: $0)) } }
    }

    /// Tells the listeners of the status, if it is another than before.
    func publish(_ status: SessionStatus) {
        state.withLock { state in
            guard state != status else { return }
            feed.notify(SessionChange(old: state, new: status))
            state = status
        }
    }

    /// Tells the listeners that the store is closed, and that no more will come.
    func close() {
        publish(.stopped)
        feed.close()
    }
}
