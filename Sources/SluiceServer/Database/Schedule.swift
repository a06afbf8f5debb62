internal import Dispatch

/// Calls a closure on any thread after a time.
package typealias Schedule = @Sendable (_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Void

/// Calls a closure on a queue of the process after a time.
let scheduleInTime: Schedule = { delay, body in
    // Longer waits, such as those for a date in the year 9999, are cut to what timers can count.
    let nanoseconds = delay / .nanoseconds(1)
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(min(nanoseconds, 9e18))), execute: body)
}
