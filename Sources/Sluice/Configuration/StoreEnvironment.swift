internal import Dispatch
internal import FoundationEssentials
package import SluiceModel
package import SluiceTransport

/// The services of the outside world that a store uses: time, randomness, and the connection to its server. Tests
/// replace them.
package struct StoreEnvironment: Sendable {
    /// The wall clock.
    package var now: @Sendable () -> Timestamp
    /// 64 random bits.
    package var random: @Sendable () -> UInt64
    /// Calls the function after a delay.
    package var schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    /// Calls the function after a delay, for upkeep that nobody waits for.
    package var scheduleUpkeep: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    /// How much real time a wait with a time-out may take where ``schedule`` follows another clock; nil for no limit.
    package var patience: Duration?
    /// Begins a connection to an endpoint; nil connects through sockets.
    package var connect: (@Sendable (Endpoint, any MessageConnectionDelegate) throws -> any MessageConnection)?
    /// Calls the function when the machine's addresses or routes have changed, as long as what is returned exists; nil
    /// where that cannot be noticed.
    package var watchNetwork: @Sendable (@escaping @Sendable () -> Void) -> (any Sendable)?
    /// How long something has run, on a clock that nobody sets and that goes on while the machine is suspended.
    package var uptime: @Sendable () -> Duration
    /// How long the machine was suspended since it was started, in all.
    package var suspendedTime: @Sendable () -> Duration

    /// The services of the system.
    package static let system = StoreEnvironment(
        now: { Timestamp(Date()) }, random: { .random(in: .min ... .max) },
        schedule: delayed, scheduleUpkeep: delayed, patience: nil, connect: nil,
        watchNetwork: { NetworkMonitor.shared?.watch($0) }, uptime: { start.duration(to: .now) },
        suspendedTime: { SuspensionClock.suspendedTime })

    /// When this process first asked.
    private static let start = ContinuousClock.now

    /// Calls the function after a delay in real time.
    static let delayed: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = { delay, body in
        let nanoseconds = delay / .nanoseconds(1)
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .nanoseconds(Int(min(nanoseconds, 9e18))), execute: body)
    }
}
