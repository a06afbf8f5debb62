internal import SluiceModel
internal import SluiceQuery

/// The open write that results were made in, through which they are read. It ends with the write.
///
/// Sound as `Sendable`: only the store's queue uses what is in it, which each use checks.
final class WriteScope: @unchecked Sendable {
    private let core: StoreCore
    private var writer: LocalWriter?

    init(_ core: StoreCore, _ writer: LocalWriter) {
        self.core = core
        self.writer = writer
    }

    /// Ends the scope. To be called on the store's queue.
    func end() { writer = nil }

    /// Reads results as the write sees them.
    ///
    /// - Throws: ``StoreError/Code/outsideWrite`` when the write has ended, or on a thread other than that of its body.
    func read<Result>(_ query: Query, _ body: (ResultReader) throws -> Result) throws -> Result {
        guard core.isOnQueue, let writer else {
            throw StoreError(
                .outsideWrite,
                "these results belong to a write and can be read in its body only; make others of the store")
        }
        return try body(writer.resultReader(query, isAlone: core.configuration.sync == nil))
    }
}
