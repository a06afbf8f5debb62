internal import SluiceModel
internal import SluiceTransport

/// The clocks of a server, and what calls back by them.
struct ServerClock: Sendable {
    /// The wall clock.
    let now: @Sendable () -> Timestamp
    /// A clock that only goes forward, in nanoseconds.
    let uptime: @Sendable () -> Int64
    /// Calls back after a time.
    let schedule: Schedule

    init(
        now: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Int64 = { MonotonicClock.now },
        schedule: @escaping Schedule = scheduleInTime
    ) {
        self.now = now
        self.uptime = uptime
        self.schedule = schedule
    }

    /// Calls back at a time of the wall clock, at once if that is over; perhaps twice.
    func call(at time: Timestamp, _ body: @escaping @Sendable () -> Void) {
        let wait = time.microseconds - now().microseconds
        if wait > 0 { schedule(.microseconds(wait), body) }
        // The clock may have moved before it was asked to call.
        if now() >= time { body() }
    }
}
