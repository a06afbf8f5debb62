internal import Dispatch

/// What the engine tells those who listen to a store.
extension StoreCore {
    /// How far a transfer has come. The first value comes once no transaction is open.
    func progress(
        _ direction: SyncProgress.Direction, _ extent: SyncProgress.Extent
    ) -> EventSource<SyncProgress> {
        events(to: { .ofNewest }) {
            $0.progress.add(direction, extent, $1)
        } end: {
            $0.progress.remove($1)
        }
    }

    /// The messages that other stores send to a topic. Of those that nobody takes, the last stands for the rest.
    func messages(to topic: String) -> EventSource<SessionMessage> {
        events(to: { EventListener(pendingCountMax: 256) { $1 } }) {
            $0.messages.add(topic, $1)
        } end: {
            $0.messages.remove($1)
        }
    }

    /// Calls a handler with each event of a source.
    ///
    /// - Parameter queue: where it is called; nil for a thread of the store.
    func observe<Event>(
        _ source: EventSource<Event>, on queue: DispatchQueue?, _ handler: @escaping @Sendable (Event) -> Void
    ) -> HandlerToken {
        source.observe(on: queue.map { .queue($0) } ?? .pool(handlers), through: gates.makeGate(), handler)
    }

    /// The events of a part of the engine.
    ///
    /// - Parameters:
    ///   - makeListener: makes what keeps the events of one who listens.
    ///   - begin: has the part tell a listener, and returns the number of that.
    ///   - end: ends what has a number.
    private func events<Event>(
        to makeListener: @escaping @Sendable () -> EventListener<Event>,
        begin: @escaping @Sendable (ClientEngine, EventListener<Event>) -> UInt64,
        end: @escaping @Sendable (ClientEngine, UInt64) -> Void
    ) -> EventSource<Event> {
        EventSource { [weak self] in
            let listener = makeListener()
            let number = RegistrationNumber()
            do {
                guard let self else { throw StoreError(.closed, "the store was closed") }
                try performSoon { engine in
                    number.set(begin(engine, listener))
                } orElse: { _ in
                    listener.finish()
                }
            } catch { listener.finish() }
            return EventMembership(listener) { [weak self] in
                self?.performLater { end($0, number.value) }
            }
        }
    }
}
