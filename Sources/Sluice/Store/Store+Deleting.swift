internal import SluiceModel
internal import SluiceQuery

extension Store {
    /// Deletes every object that a query finds on the server, however many there are: brings them into the store,
    /// deletes them in transactions of at most 10,000, and waits until the server has each transaction.
    ///
    /// If it does not come to its end, some of the objects are deleted; called again, it deletes the others. A query with
    /// a limit, a section or DISTINCT is one transaction. O(results), and what finding them costs for each 10,000.
    ///
    /// - Parameter results: the query. What it computes does not count.
    /// - Returns: how many objects were deleted.
    /// - Throws: `QueryError`; ``SyncError`` when the server refuses the query or a transaction, or when the store has no
    ///   server; ``StoreError``; `CancellationError`.
    @discardableResult
    public func delete<Element: ResultElement>(all results: Results<Element>) async throws -> Int {
        let isWhole = try results.query().isDeletedInParts
        let slice = isWhole ? results.limit(DeletionSlices.countMax) : results
        var total = 0
        while true {
            try Task.checkCancellation()
            try await slice.synced(timeout: nil) {}
            let (count, receipt) = try await write { transaction in
                (try transaction.delete(all: slice), transaction.receipt)
            }
            try await uploaded(receipt)
            total += count
            if count == 0 || !isWhole { return total }
        }
    }
}

/// How much is deleted in one transaction where a query finds more.
package enum DeletionSlices {
    package static let countMax = 10_000
}

extension Query {
    /// Whether what is left after a part was deleted is what the query finds then.
    package var isDeletedInParts: Bool { object == nil && !isPartial && !hasSection }
}
