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
/// microseconds. It follows the wall clock and never repeats a time.
///
/// A wall clock that is more than ``driftMax`` off is corrected by what it lacks, as soon as it was compared with the
/// server's: so writes that are made far from the server are in the order in which they were made, whoever made them.
package struct HybridClock: Sendable {
    /// The largest error of a wall clock that is not corrected, and the furthest that a server lets a timestamp be ahead
    /// of its own clock, in microseconds.
    package static let driftMax: Int64 = 60_000_000

    private var last: Int64
    /// What is added to the wall clock, in microseconds; 0 for one that is about right.
    package private(set) var correction: Int64

    package init(last: HybridTimestamp = HybridTimestamp(microseconds: 0), correction: Int64 = 0) {
        self.last = last.microseconds
        self.correction = correction
    }

    /// Makes the next timestamp, which is later than all before it, except those of a clock that was found to be ahead.
    ///
    /// - Parameter now: the wall clock.
    package mutating func tick(now: Timestamp) -> HybridTimestamp {
        last = next(now: now).microseconds
        return HybridTimestamp(microseconds: last)
    }

    /// The timestamp that the next tick makes.
    package func next(now: Timestamp) -> HybridTimestamp {
        HybridTimestamp(microseconds: max(last == .max ? last : last + 1, Self.sum(now.microseconds, correction)))
    }

    /// Compares the wall clock with the server's.
    ///
    /// - Parameters:
    ///   - server: the server's wall clock.
    ///   - now: the wall clock at about the same time.
    /// - Returns: whether the correction is another one now.
    package mutating func compare(with server: Timestamp, now: Timestamp) -> Bool {
        let error = Self.sum(server.microseconds, now.microseconds == .min ? .max : -now.microseconds)
        let needed = error.magnitude > UInt64(Self.driftMax) ? error : 0
        // What was written by a clock that ran ahead would else be followed by times that are ahead too.
        last = min(last, Self.sum(server.microseconds, Self.driftMax))
        let change = Self.sum(needed, -correction)
        // A message takes its time, and so the correction differs a little each time.
        guard needed == 0 ? correction != 0 : change.magnitude > UInt64(Self.driftMax) / 60 else { return false }
        correction = needed
        return true
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, isOver) = left.addingReportingOverflow(right)
        return isOver ? (left < 0 ? .min + 1 : .max) : sum
    }
}
