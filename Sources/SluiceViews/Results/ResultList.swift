package import SluiceQuery

/// The results of a query in one state, in order. It is immutable, and the lists of two states share all but what
/// differs between them.
///
/// The list may hold more entries than the query's limit; only those within the limit are visible.
package struct ResultList: Sendable {
    package let order: SortOrder
    /// The maximum number of visible entries; nil for no limit.
    package let limit: Int?
    /// All entries, in order, including those beyond the limit.
    package internal(set) var entries: ChunkedList<ResultEntry>

    /// Makes a list of the given entries, in any order, each object once. O(n) if they are in order.
    package init(order: SortOrder, limit: Int?, entries: [ResultEntry] = []) {
        self.order = order
        self.limit = limit
        var sorted = entries
        order.sort(&sorted)
        self.entries = ChunkedList(sorted)
    }

    /// The entries within the limit.
    package var visible: Slice<ChunkedList<ResultEntry>> { entries[0..<visibleCount] }

    /// The number of entries within the limit.
    package var visibleCount: Int { Swift.min(limit ?? .max, entries.count) }
}

extension SortOrder {
    /// Sorts entries, if they are not sorted yet.
    package func sort(_ entries: inout [ResultEntry]) {
        let isSorted = zip(entries, entries.dropFirst()).allSatisfy { !precedes($1.position, $0.position) }
        if !isSorted { entries.sort { precedes($0.position, $1.position) } }
    }
}

extension ChunkedList<ResultEntry> {
    /// The index of the first entry that does not precede `position`.
    func firstIndex(notBefore position: SortPosition, in order: SortOrder) -> Int {
        partitionIndex { order.precedes($0.position, position) }
    }
}
