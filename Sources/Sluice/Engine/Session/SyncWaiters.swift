/// Those who wait for the session to open, or for everything written here to be acknowledged.
final class SyncWaiters {
    /// Returns true once it waits no longer.
    typealias Waiter = (Result<Bool, SyncError>) -> Bool

    enum Event {
        case connected, uploaded
    }

    private var waiting: [Event: [UInt64: Waiter]] = [:]
    private var lastNumber: UInt64 = 0

    /// - Returns: the number for ``cancel(_:)``.
    func add(_ event: Event, _ waiter: @escaping Waiter) -> UInt64 {
        lastNumber += 1
        waiting[event, default: [:]][lastNumber] = waiter
        return lastNumber
    }

    func cancel(_ number: UInt64) {
        for event in waiting.keys { waiting[event]?[number] = nil }
    }

    func isEmpty(_ event: Event) -> Bool { waiting[event]?.isEmpty ?? true }

    /// Calls the waiters with whether the event has come about, or with the error that prevents it, and removes those
    /// that return true.
    func notify(_ event: Event, _ result: Result<Bool, SyncError>) {
        for (number, waiter) in waiting[event] ?? [:] where waiter(result) { waiting[event]?[number] = nil }
    }
}
