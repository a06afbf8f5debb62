package import SluiceModel
package import SluiceQuery
internal import SluiceStorage

/// What consumers and queues of this process read.
extension DatabaseEngine {
    /// A query as a user may read it. Brings the time of the database to the present for the query, and lets a group be
    /// made when time changes its results next.
    ///
    /// - Parameter userID: nil for the server itself, which reads everything.
    /// - Throws: ``ServerError`` when the query names what the user may not read; what `query` throws.
    package func jobQuery(readBy userID: String?, _ query: (Schema) throws -> Query, now: Timestamp) throws -> Query {
        let query = try self.query(query(database.storage.schema), readBy: userID)
        bringTime(to: now, for: query, isAwaited: true)
        return query
    }

    /// Finds what a consumer is to be given after a checkpoint. Results are left to be read from a snapshot.
    ///
    /// - Parameters:
    ///   - checkpoint: nil to begin with all results.
    ///   - userID: the user who reads; nil for the server itself, which reads everything.
    ///   - query: makes the query for the schema as it is.
    package func chunk(
        after checkpoint: Checkpoint?, _ sizes: ChunkSizes, readBy userID: String?,
        of query: (Schema) throws -> Query, now: Timestamp
    ) throws -> PendingRead<ConsumerChunk> {
        let query = try jobQuery(readBy: userID, query, now: now)
        let context = query.context
        let storage = database.storage
        switch try ConsumerReading(query, after: checkpoint, in: storage, sizes) {
        case .chunk(let chunk): return .done(try chunk.shown(to: context, in: storage))
        case .reading(let page):
            guard let snapshot = try storage.snapshot() else {
                return .done(try page.read(in: storage).shown(to: context, in: storage))
            }
            return .beside(HandedOver(snapshot)) { try page.read(in: $0).shown(to: context, in: $0) }
        }
    }
}
