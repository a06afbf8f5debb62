internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// How much an observer holds of the results of a query with a limit: the first rows and a surplus, as a server's window
/// does, while this store decides what is a result.
///
/// The window is that of the last commit, with the edits that wait for the consumer. All results up to its end are held,
/// so an edit behind the end concerns nothing that is shown, and removals that leave fewer results than the limit make
/// the store be read again.
struct HeldWindow {
    private let limit: Int
    private let order: SortOrder
    private var surplus: WindowSurplus
    /// Which results are held.
    private var extent = HeldExtent.whole

    /// Returns nil for a query without a window: one without a limit, with stages, or of one object by its id.
    ///
    /// - Parameter surplus: see ``ClientOptions/windowSurplus``.
    init?(_ query: Query, surplus: Int?) {
        guard let limit = query.limit, query.stages.isEmpty, query.object == nil else { return nil }
        self.limit = limit
        order = SortOrder(query.sort)
        self.surplus = WindowSurplus(limit: limit, usualCount: surplus)
    }

    /// How many results are held after they were read, if there are that many.
    var capacity: Int { surplus.capacity }

    /// Whether a result at a position is not held, because it comes behind all that are.
    func excludes(_ position: SortPosition) -> Bool {
        guard case .window(let end?) = extent else { return false }
        return order.precedes(end, position)
    }

    /// Whether results that are shown may be missing once so many are held, where the store has others.
    func isExhausted(with heldCount: Int) -> Bool { heldCount < limit }

    /// Whether the store has results that are not held.
    var hasOthers: Bool { extent.hasOthers }

    /// Holds more from now on, since the results are read again after the window was exhausted.
    mutating func widen() { surplus.widen() }

    /// Notes which results are held, after they were read.
    mutating func hold(_ extent: HeldExtent) { self.extent = extent }

    /// Whether some of so many held results are to be dropped, since they are far beyond the limit.
    func isExceeded(by heldCount: Int) -> Bool {
        guard case .window = extent else { return false }
        return surplus.isExceeded(by: heldCount)
    }

    /// Drops results far beyond the limit.
    ///
    /// - Parameter results: those of the last commit.
    mutating func trim(_ results: inout ResultEditor) {
        guard isExceeded(by: results.count) else { return }
        surplus.reset()
        results.removeAll(from: surplus.capacity)
        extent = .window(end: results.list.entries.last?.position)
    }

    /// Which results are to be dropped, as ``trim(_:)`` does, while edits wait that lead to them.
    ///
    /// - Parameter entries: the results of the last commit that are held, in any order.
    mutating func trimmed(_ entries: [ResultEntry]) -> ArraySlice<ResultEntry> {
        guard isExceeded(by: entries.count) else { return [] }
        surplus.reset()
        var sorted = entries
        order.sort(&sorted)
        extent = .window(end: sorted[..<surplus.capacity].last?.position)
        return sorted[surplus.capacity...]
    }
}
