public import Sluice
internal import SluiceModel
internal import SluiceQuery

extension ServerDatabase {
    /// Deletes every object that a query finds, however many there are, in transactions of at most 10,000: others write in
    /// between.
    ///
    /// If it does not come to its end, some of the objects are deleted; called again, it deletes the others. A query with
    /// a limit, a section or DISTINCT is one transaction. O(results), and what finding them costs for each 10,000.
    ///
    /// - Parameter results: the query. What it computes does not count.
    /// - Returns: how many objects were deleted.
    /// - Throws: `QueryError`; `ServerError` when the database cannot be written; `CancellationError`.
    @discardableResult
    public func delete<Element: ResultElement>(all results: ServerResults<Element>) async throws -> Int {
        let isWhole = try results.query(in: try await schema).isDeletedInParts
        let slice =
            isWhole ? results.description.limited(to: DeletionSlices.countMax) : results.description
        var total = 0
        while true {
            try Task.checkCancellation()
            let count = try await write { transaction in try transaction.delete(all: transaction.results(slice)) }
            total += count
            if count == 0 || !isWhole { return total }
        }
    }
}
