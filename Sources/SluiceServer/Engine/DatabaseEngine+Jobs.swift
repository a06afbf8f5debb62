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

    /// Where the database stands in its journal.
    var position: UInt64 { database.storage.head.position }
}
