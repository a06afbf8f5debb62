/// Spans of time as queries write them: `90m` in `$now - 90m`.
enum TimeSpan {
    /// The units with their lengths in microseconds, the longest first.
    static let units: [(name: String, length: Int64)] = [
        ("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1),
    ]

    /// The longest span, in microseconds: a hundred years.
    static let max: Int64 = 36_500 * 86_400_000_000

    /// A span in the largest unit of which it is a whole number.
    ///
    /// - Parameter length: microseconds; not negative.
    static func text(_ length: Int64) -> String {
        for unit in units where length.isMultiple(of: unit.length) { return "\(length / unit.length)\(unit.name)" }
        return "\(length)us"
    }
}
