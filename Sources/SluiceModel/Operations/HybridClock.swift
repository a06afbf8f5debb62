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

    /// The furthest from 1970 that a clock with which this one is compared may be, in microseconds: 73,000 years. So what
    /// is added to this clock leaves room to go on.
    package static let distanceMax: Int64 = 1 << 61

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
    ///   - server: the server's wall clock at some moment between the other two.
    ///   - asked: the wall clock when the server was asked. An answer may take long, on a slow network or because the
    ///     machine slept, and that is no error of the clock.
    ///   - now: the wall clock when the answer came.
    /// - Returns: whether the correction is another one now.
    package mutating func compare(with server: Timestamp, asked: Timestamp, now: Timestamp) -> Bool {
        // The clock may have been set meanwhile.
        let (early, late) = (min(asked, now).microseconds, max(asked, now).microseconds)
        let (least, most) = (Self.difference(server.microseconds, late), Self.difference(server.microseconds, early))
        let error = least > 0 ? least : min(most, 0)
        let needed = error.magnitude > UInt64(Self.driftMax) ? error : 0
        // What was written by a clock that ran ahead would else be followed by times that are ahead too.
        let latest = Self.sum(server.microseconds, Self.difference(late, early))
        last = min(last, Self.sum(latest, Self.driftMax))
        let change = Self.difference(needed, correction)
        // A message takes its time, and so the correction differs a little each time.
        guard needed == 0 ? correction != 0 : change.magnitude > UInt64(Self.driftMax) / 60 else { return false }
        correction = needed
        return true
    }

    private static func difference(_ left: Int64, _ right: Int64) -> Int64 {
        sum(left, right == .min ? .max : -right)
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, isOver) = left.addingReportingOverflow(right)
        return isOver ? (left < 0 ? .min + 1 : .max) : sum
    }
}
