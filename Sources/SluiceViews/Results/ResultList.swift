package import SluiceModel
package import SluiceQuery

/// The results of a query in one state, in order. It is immutable, and the lists of two states share all but what
/// differs between them.
///
/// The list may hold more entries than the query's limit; only those within the limit are visible. It is read with the
/// schema that it was made with, whatever becomes of the store's.
package struct ResultList: Sendable {
    /// The classes as of the state that the list shows.
    package internal(set) var schema: Schema
    /// Whether rows may be of an earlier schema than ``schema``. They are brought up to it where they are read.
    var mayHaveEarlierRows = false
    package let order: SortOrder
    /// The maximum number of visible entries; nil for no limit.
    package let limit: Int?
    /// All entries, in order, including those beyond the limit.
    package internal(set) var entries: ChunkedList<ResultEntry>

    /// Makes a list of the given entries, in any order, each object once. O(n) if they are in order.
    ///
    /// - Parameter schema: the classes as the rows of the entries have them.
    package init(schema: Schema, order: SortOrder, limit: Int?, entries: [ResultEntry] = []) {
        self.schema = schema
        self.order = order
        self.limit = limit
        var sorted = entries
        order.sort(&sorted)
        self.entries = ChunkedList(sorted)
    }

    /// A list of some entries of this one, in their order, without a limit. O(n).
    package func list(of entries: some Collection<ResultEntry>) -> ResultList {
        var list = ResultList(schema: schema, order: order, limit: nil)
        list.mayHaveEarlierRows = mayHaveEarlierRows
        list.entries = ChunkedList(Array(entries))
        return list
    }

    /// The row of an entry of the list, as ``schema`` has its class. O(its size).
    package func row(of entry: ResultEntry) -> Row {
        var row = entry.row
        if mayHaveEarlierRows { row.adapt(to: schema[entry.object.classIndex]) }
        return row
    }

    /// The entries within the limit.
    package var visible: Slice<ChunkedList<ResultEntry>> { entries[0..<visibleCount] }

    /// The number of entries within the limit.
    package var visibleCount: Int { Swift.min(limit ?? .max, entries.count) }
}

extension SortOrder {
    /// Sorts entries, if they are not sorted yet.
    package func sort(_ entries: inout [ResultEntry]) {
        let isSorted = zip(entries, entries.dropFirst()).allSatisfy { !$1.precedes($0, in: self) }
        if !isSorted { entries.sort { $0.precedes($1, in: self) } }
    }
}

extension ChunkedList<ResultEntry> {
    /// The index of the first entry that does not precede `position`.
    func firstIndex(notBefore position: SortPosition, in order: SortOrder) -> Int {
        partitionIndex { $0.precedes(position, in: order) }
    }
}
