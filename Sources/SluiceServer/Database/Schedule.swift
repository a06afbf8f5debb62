internal import Dispatch

/// Calls a closure on any thread after a time.
package typealias Schedule = @Sendable (_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Void

/// Calls a closure on a queue of the process after a time.
let scheduleInTime: Schedule = { delay, body in
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(delay / .nanoseconds(1))), execute: body)
}
