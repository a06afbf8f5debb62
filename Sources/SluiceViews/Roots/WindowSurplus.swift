/// How many rows beyond its limit a window holds, so that few changes have to read from the store.
///
/// Every refill makes the surplus twice as large, up to ``countMax``, since a window that loses its first rows is
/// likely to lose more, and reading may take a scan of the class. A window that is trimmed returns to its usual
/// surplus.
package struct WindowSurplus: Sendable {
    /// How many rows beyond the limit a window comes to hold at most.
    package static let countMax = 4_096

    private let limit: Int
    /// How many rows beyond the limit a window holds when it was filled for the first time.
    let usualCount: Int
    /// How many rows beyond the limit a reading leaves, if there are that many.
    private var count: Int

    /// - Parameters:
    ///   - limit: how many rows the window shows.
    ///   - usualCount: how many rows beyond the limit the first reading leaves; nil for as many as the limit, but at
    ///     least 16 and at most 256. A window that shows nothing holds nothing.
    package init(limit: Int, usualCount: Int? = nil) {
        self.limit = limit
        self.usualCount = limit == 0 ? 0 : usualCount ?? min(max(limit, 16), 256)
        count = self.usualCount
    }

    /// How many rows a window holds after it has read, if there are that many.
    package var capacity: Int {
        let (capacity, overflows) = limit.addingReportingOverflow(count)
        return overflows ? .max : capacity
    }

    /// Whether a window that holds so many rows drops those beyond its usual capacity.
    package func isExceeded(by heldCount: Int) -> Bool { heldCount - max(usualCount, 1) > capacity }

    /// Makes the surplus twice as large, for a window that has to read again.
    package mutating func widen() { count = min(count * 2, max(Self.countMax, usualCount)) }

    /// Returns to the usual surplus.
    package mutating func reset() { count = usualCount }
}
