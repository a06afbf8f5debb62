internal import SluiceModel
internal import Synchronization

/// Makes the calls of one observation's handlers: each event goes to the one, what has gone wrong to the other.
final class ObservationCalls<Element: ResultElement>: Sendable {
    private let gate: DeliveryGate
    private let core: StoreCore
    private let number: RegistrationNumber
    /// The error that the last event had.
    private let lastError = Mutex<SyncError?>(nil)

    init(_ gate: DeliveryGate, _ core: StoreCore, _ number: RegistrationNumber) {
        self.gate = gate
        self.core = core
        self.number = number
    }

    /// Tells of an event, where the handlers are called.
    ///
    /// - Parameters:
    ///   - handler: told of the event. If it throws, the observation has no more events.
    ///   - onError: told of what the handler throws, and of the event's error unless the event before had it, too; nil
    ///     if nobody is.
    func notify(
        _ event: ResultEvent, _ handler: (Change<Element>) throws -> Void, _ onError: ((any Error) -> Void)?
    ) {
        gate.deliver {
            let change = Change<Element>(event, core: core)
            do { try handler(change) } catch { return end(because: error, onError) }
            let error = change.subscription.error
            let isNew = lastError.withLock { last in
                defer { last = error }
                return last != error
            }
            // The handler may have stopped the observation.
            if isNew, let error, !gate.isClosed { onError?(error) }
        }
    }

    private func end(because error: any Error, _ onError: ((any Error) -> Void)?) {
        gate.shut()
        core.performLater { [number] in $0.endEvents(number.value) }
        guard let onError else {
            // What the program throws may name what is its user's.
            core.configuration.log?.about(.store)(
                .error, "a handler has thrown, and is told of no more events; observe with onError to see why",
                [("error", "\(type(of: error))")])
            return
        }
        onError(error)
    }
}
