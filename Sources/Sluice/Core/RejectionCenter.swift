internal import Synchronization

/// How many rejections are kept while there is no handler.
private let unreportedCountMax = 1_000

/// Reports rejected writes to handlers, and keeps the latest while there is no handler.
package final class RejectionCenter: Sendable {
    /// Returns whether the handler was told.
    private typealias Handler = @Sendable (WriteRejection) -> Bool

    private struct State {
        var handlers: [(number: Int, handler: Handler)] = []
        var unreported: [WriteRejection] = []
        var nextNumber = 0
        var onReported: (@Sendable (WriteRejection) -> Void)?

        mutating func keep(_ rejection: WriteRejection) {
            if unreported.count == unreportedCountMax { unreported.removeFirst() }
            unreported.append(rejection)
        }
    }

    private let calls: HandlerSequence
    private let gates: GateGroup
    private let state = Mutex(State())

    /// - Parameters:
    ///   - calls: where handlers are called.
    ///   - gates: what they are called through.
    package init(_ calls: HandlerSequence, _ gates: GateGroup) {
        self.calls = calls
        self.gates = gates
    }

    /// Called after the handlers for each rejection that they were told of.
    var onReported: (@Sendable (WriteRejection) -> Void)? {
        get { state.withLock(\.onReported) }
        set { state.withLock { $0.onReported = newValue } }
    }

    package func add(_ handler: @escaping @Sendable (WriteRejection) -> Void) -> HandlerToken {
        let gate = gates.makeGate()
        let gated: Handler = { rejection in gate.deliver { handler(rejection) } }
        let (number, unreported) = state.withLock { state in
            state.nextNumber += 1
            state.handlers.append((state.nextNumber, gated))
            defer { state.unreported = [] }
            return (state.nextNumber, state.unreported)
        }
        for rejection in unreported { notify(rejection, [gated]) }
        return HandlerToken { [weak self] in
            self?.state.withLock { $0.handlers.removeAll { $0.number == number } }
            gate.close()
        }
    }

    package func report(_ rejection: WriteRejection) {
        let handlers = state.withLock { state in
            if state.handlers.isEmpty { state.keep(rejection) }
            return state.handlers.map(\.handler)
        }
        if !handlers.isEmpty { notify(rejection, handlers) }
    }

    private func notify(_ rejection: WriteRejection, _ handlers: [Handler]) {
        calls.run { [self] in
            let isTold = handlers.reduce(false) { $1(rejection) || $0 }
            // Those who were there have been stopped meanwhile.
            if isTold { onReported?(rejection) } else { state.withLock { $0.keep(rejection) } }
        }
    }
}
