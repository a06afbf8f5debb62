public import FoundationEssentials

/// A point in time, in microseconds since 1970-01-01T00:00:00Z; finer fractions are rounded.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970, negative before.
    public let microseconds: Int64

    /// - Parameter microseconds: the microseconds since 1970-01-01T00:00:00Z, negative before.
    @inlinable
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Makes the nearest timestamp. Dates out of range (some 292,000 years) become its nearest end, and NaN becomes
    /// 1970.
    public init(_ date: Date) {
        let scaled = (date.timeIntervalSince1970 * 1_000_000).rounded()
        if scaled.isNaN {
            microseconds = 0
        } else {
            microseconds = Int64(exactly: scaled) ?? (scaled < 0 ? .min : .max)
        }
    }

    /// The same point in time as a Foundation date, exact to about a microsecond near the present.
    public var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }

    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }
}

extension Timestamp {
    /// A time so many microseconds later; the last or the first there is where that is beyond it.
    package func advanced(by microseconds: Int64) -> Timestamp {
        let (sum, isOver) = self.microseconds.addingReportingOverflow(microseconds)
        return Timestamp(microseconds: isOver ? (microseconds < 0 ? .min : .max) : sum)
    }
}
