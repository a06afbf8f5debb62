internal import Synchronization

/// The gates of all handlers of a store, which close with it.
package final class GateGroup: Sendable {
    private struct State {
        var isClosed = false
        var gates: [ObjectIdentifier: WeakGate] = [:]
    }

    private struct WeakGate {
        weak var gate: DeliveryGate?
    }

    private let state = Mutex(State())

    package init() {}

    /// Makes the gate of a handler; a closed one if the group is closed.
    func makeGate() -> DeliveryGate {
        let gate = DeliveryGate { [weak self] id in _ = self?.state.withLock { $0.gates.removeValue(forKey: id) } }
        let isClosed = state.withLock { state in
            if !state.isClosed { state.gates[ObjectIdentifier(gate)] = WeakGate(gate: gate) }
            return state.isClosed
        }
        if isClosed { gate.shut() }
        return gate
    }

    private var all: [DeliveryGate] { state.withLock { $0.gates.values.compactMap(\.gate) } }

    /// Closes all gates, without waiting for the calls that run.
    func close() {
        state.withLock { $0.isClosed = true }
        for gate in all { gate.shut() }
    }

    /// Waits until no call runs.
    func callsHaveReturned() async {
        for gate in all { await withCheckedContinuation { continuation in gate.whenIdle { continuation.resume() } } }
    }
}
