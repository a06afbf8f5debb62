internal import SluiceModel
internal import SluiceQuery
package import SluiceStorage

/// What jobs of the server's own process ask of a database.
extension DatabaseEngine {
    /// The records of jobs.
    package var jobs: any JobRecords { database.storage }

    /// Begins to find what a consumer is to be given next.
    func readForConsumer(_ query: Query, after checkpoint: Checkpoint?, _ sizes: ChunkSizes) throws -> ConsumerReading {
        try ConsumerReading(query, after: checkpoint, in: database.storage, sizes)
    }

    /// Reads results for a consumer on the queue, in a database without a second connection.
    func read(_ page: ResultPage) throws -> ConsumerChunk { try page.read(in: database.storage) }

    /// Has a closure called after each group, see ``InProcessObservers``.
    func beginRinging(_ ring: @escaping @Sendable () -> Void) -> UInt64 { observers.beginRinging(ring) }

    func endRinging(_ number: UInt64) { observers.endRinging(number) }
}
