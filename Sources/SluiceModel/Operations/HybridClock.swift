/// A time of a hybrid logical clock: physical time that never runs backwards.
package struct HybridTimestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970. The logical counter is part of them: the next tick is at least one microsecond later.
    package let microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    package static func < (left: HybridTimestamp, right: HybridTimestamp) -> Bool {
        left.microseconds < right.microseconds
    }
}

/// A hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014) whose logical part is folded into the
/// microseconds. It follows the wall clock, never repeats a time, and never falls behind a time that it has seen.
///
/// A wrong wall clock elsewhere cannot drive it far ahead: it follows a timestamp from elsewhere by at most `driftMax`.
package struct HybridClock: Sendable {
    /// The furthest that a timestamp from elsewhere may pull this clock ahead of its own wall clock, in microseconds.
    package static let driftMax: Int64 = 60_000_000

    private var last: Int64

    package init(last: HybridTimestamp = HybridTimestamp(microseconds: 0)) { self.last = last.microseconds }

    /// Makes the next timestamp, which is later than all before it.
    ///
    /// - Parameter now: the wall clock.
    package mutating func tick(now: Timestamp) -> HybridTimestamp {
        last = next(now: now).microseconds
        return HybridTimestamp(microseconds: last)
    }

    /// The timestamp that the next tick makes.
    package func next(now: Timestamp) -> HybridTimestamp {
        HybridTimestamp(microseconds: max(last + 1, now.microseconds))
    }

    /// Takes a timestamp from elsewhere into account, so that the next tick is later.
    ///
    /// - Returns: the timestamp, reduced to at most `driftMax` ahead of the wall clock.
    @discardableResult
    package mutating func observe(_ timestamp: HybridTimestamp, now: Timestamp) -> HybridTimestamp {
        let accepted = min(timestamp.microseconds, now.microseconds + Self.driftMax)
        last = max(last, accepted)
        return HybridTimestamp(microseconds: accepted)
    }
}
