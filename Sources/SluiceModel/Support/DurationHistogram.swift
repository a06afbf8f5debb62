/// Counts durations by how long they were: what Prometheus calls a histogram. A value that takes 200 bytes.
package struct DurationHistogram: Hashable, Sendable {
    /// The upper bounds of the classes, in nanoseconds: from 100 µs to 10 s. What is longer is in one more class.
    package static let bounds: [Int64] = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
    ]

    /// How many durations are in each class, and not in one before.
    package private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
    /// The sum of all durations, in nanoseconds.
    package private(set) var sum: Int64 = 0

    package init() {}

    /// Counts a duration, in nanoseconds: O(1).
    package mutating func note(_ nanoseconds: Int64) {
        let index = Self.bounds.firstIndex { nanoseconds <= $0 } ?? Self.bounds.count
        counts[index] += 1
        sum += max(0, nanoseconds)
    }

    /// How many durations were counted.
    package var count: UInt64 { counts.reduce(0, +) }

    package static func += (left: inout DurationHistogram, right: DurationHistogram) {
        for index in left.counts.indices { left.counts[index] += right.counts[index] }
        left.sum += right.sum
    }
}
