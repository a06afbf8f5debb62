public import Sluice
public import SluiceModel

extension ServerResults {
    /// The results one by one, read in pages; see `AsyncRows`.
    ///
    /// - Parameter page: how many are read at a time.
    public func rows(page: Int = 1_000) -> AsyncRows<Element> {
        AsyncRows(database.host, page: page) { try query(in: $0) }
    }

    /// All results, and then what has changed, in batches; see `Batches`.
    ///
    /// - Parameters:
    ///   - checkpoint: nil to begin with all results.
    ///   - limit: at most so many objects in a batch.
    public func changes(since checkpoint: Checkpoint?, limit: Int = 1_000) -> Batches<Element> {
        Batches(database.host, since: checkpoint, limit: limit) { try query(in: $0) }
    }
}
