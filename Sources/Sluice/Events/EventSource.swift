/// Where events of one kind come from. Everybody who listens gets them through a membership of their own.
struct EventSource<Event: Sendable>: Sendable {
    /// Begins to listen.
    let listen: @Sendable () -> EventMembership<Event>

    /// Calls a handler with each event, one at a time, until the token is stopped or released, or the gate is closed.
    func observe(
        on place: HandlerPlace, through gate: DeliveryGate, _ handler: @escaping @Sendable (Event) -> Void
    ) -> HandlerToken {
        let membership = listen()
        membership.listener.deliver(on: HandlerSequence(place), through: gate, handler)
        return HandlerToken {
            membership.end()
            gate.close()
        }
    }
}

extension EventListener {
    /// Calls a handler with each event, one at a time, as long as the gate is open.
    func deliver(
        on calls: HandlerSequence, through gate: DeliveryGate, _ handler: @escaping @Sendable (Event) -> Void
    ) {
        begin { [weak self] in
            guard let self else { return }
            calls.run { self.deliverNext(on: calls, through: gate, handler) }
        }
    }

    private func deliverNext(
        on calls: HandlerSequence, through gate: DeliveryGate, _ handler: @escaping @Sendable (Event) -> Void
    ) {
        guard let event = take() else { return }
        gate.deliver { handler(event) }
        if hasPending { calls.run { self.deliverNext(on: calls, through: gate, handler) } }
    }
}

/// One listener of a source, as long as it exists.
final class EventMembership<Event: Sendable>: Sendable {
    let listener: EventListener<Event>
    private let leave: @Sendable () -> Void

    /// - Parameter leave: called at least once when nobody listens any more.
    init(_ listener: EventListener<Event>, leave: @escaping @Sendable () -> Void) {
        self.listener = listener
        self.leave = leave
    }

    /// Ends the membership before it is released.
    func end() {
        leave()
        listener.finish()
    }

    deinit { end() }
}
