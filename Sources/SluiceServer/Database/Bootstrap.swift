internal import SluiceModel
internal import SluiceStorage

/// What a subscription has still to be sent, and what changed behind the pages that were.
struct Bootstrap {
    /// Where the roots of the remaining pages come from.
    enum Roots {
        /// The class in the order of storage, judged row by row, from behind this place.
        case scan(after: RowCursor?)
        /// The roots of the moment at which the bootstrap began, in result order, from this position.
        case listed([ObjectRef], next: Int)
        case done
    }

    /// Linked objects that are not sent yet, last first. They go before the roots, so that links lead somewhere at once.
    var linked: [ObjectRef]
    var roots: Roots
    /// Objects that commits touched since the first page: sent again, or taken back, at the end.
    var touched: Set<ObjectRef> = []
    /// How many objects there are about to be sent, and how many were.
    var expectedCount: Int
    var sentCount = 0

    /// The share of the pages that was sent, below 1.
    var progress: Double { min(0.99, Double(sentCount) / Double(max(1, expectedCount))) }
}
