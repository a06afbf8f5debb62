/// A point on a hybrid logical clock: physical time that never runs backwards.
package struct HybridTimestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970. The counter shares them: a tick later is a microsecond later.
    package let microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    package static func < (left: HybridTimestamp, right: HybridTimestamp) -> Bool {
        left.microseconds < right.microseconds
    }
}

/// A hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014), with the logical part folded into the
/// microseconds: it follows the wall clock, never repeats, and never falls behind what it has seen.
///
/// A wrong wall clock cannot poison it: timestamps further ahead than `driftMax` are not followed but cut to it.
package struct HybridClock: Sendable {
    /// The furthest that a timestamp from elsewhere may pull this clock ahead of its own wall clock, in microseconds.
    package static let driftMax: Int64 = 60_000_000

    private var last: Int64

    package init(last: HybridTimestamp = HybridTimestamp(microseconds: 0)) { self.last = last.microseconds }

    /// The next timestamp: later than all before it.
    ///
    /// - Parameter now: the wall clock.
    package mutating func tick(now: Timestamp) -> HybridTimestamp {
        last = max(last + 1, now.microseconds)
        return HybridTimestamp(microseconds: last)
    }

    /// Takes note of a timestamp made elsewhere, so that the next tick is later.
    ///
    /// - Returns: the timestamp, cut to `driftMax` ahead of the wall clock.
    @discardableResult
    package mutating func observe(_ timestamp: HybridTimestamp, now: Timestamp) -> HybridTimestamp {
        let accepted = min(timestamp.microseconds, now.microseconds + Self.driftMax)
        last = max(last, accepted)
        return HybridTimestamp(microseconds: accepted)
    }
}
