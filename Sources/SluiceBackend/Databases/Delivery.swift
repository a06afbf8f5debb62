internal import Dispatch
internal import Sluice
internal import SluiceServer
internal import Synchronization

/// Delivers what arrives in an inbox to a handler, one change at a time.
final class Delivery: Sendable {
    private let inbox: ChangeInbox
    private let queue: DispatchQueue
    private let gate: DeliveryGate
    private let handler: @Sendable (ObservedChange) -> Void
    private let onFailure: @Sendable (ServerError) -> Void
    private let isScheduled = Atomic(false)

    init(
        _ inbox: ChangeInbox, on queue: DispatchQueue, through gate: DeliveryGate,
        _ handler: @escaping @Sendable (ObservedChange) -> Void, _ onFailure: @escaping @Sendable (ServerError) -> Void
    ) {
        self.inbox = inbox
        self.queue = queue
        self.gate = gate
        self.handler = handler
        self.onFailure = onFailure
    }

    /// The inbox keeps this alive until the observation has ended.
    func start() { inbox.onArrival { self.schedule() } }

    private func schedule() {
        guard !isScheduled.exchange(true, ordering: .sequentiallyConsistent) else { return }
        queue.async { self.deliver() }
    }

    /// Delivers one change, so that others who use the queue have their turn.
    private func deliver() {
        switch inbox.take() {
        case .change(let change):
            gate.deliver { handler(change) }
        case .ended(let error):
            if let error { gate.deliver { onFailure(error) } }
            return
        case .nothing:
            isScheduled.store(false, ordering: .sequentiallyConsistent)
            // What has arrived since then was not scheduled.
            if inbox.hasContent { schedule() }
            return
        }
        queue.async { self.deliver() }
    }
}
