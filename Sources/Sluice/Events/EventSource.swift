internal import Dispatch

/// Where events of one kind come from. Everybody who listens gets them through a membership of their own.
struct EventSource<Event: Sendable>: Sendable {
    /// Begins to listen.
    let listen: @Sendable () -> EventMembership<Event>

    /// Calls a handler with each event, one at a time, until the token is stopped or released.
    func observe(on queue: DispatchQueue, _ handler: @escaping @Sendable (Event) -> Void) -> HandlerToken {
        let gate = DeliveryGate()
        let membership = listen()
        let listener = membership.listener
        listener.begin {
            queue.async {
                while let event = listener.take() { gate.deliver { handler(event) } }
            }
        }
        return HandlerToken {
            membership.end()
            gate.close()
        }
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
