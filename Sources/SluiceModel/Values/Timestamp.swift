public import FoundationEssentials

/// A point in time: microseconds since 1970-01-01T00:00:00Z in 64 bits, finer fractions rounded.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970, negative before.
    public let microseconds: Int64

    /// - Parameter microseconds: since 1970-01-01T00:00:00Z, negative before.
    @inlinable
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// The nearest timestamp; dates beyond the range (some 292,000 years) clamp to its ends, and NaN to 1970.
    public init(_ date: Date) {
        let scaled = (date.timeIntervalSince1970 * 1_000_000).rounded()
        if scaled.isNaN {
            microseconds = 0
        } else {
            microseconds = Int64(exactly: scaled) ?? (scaled < 0 ? .min : .max)
        }
    }

    /// The same point in time as Foundation's type, exact to about a microsecond around the present.
    public var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }

    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }
}
