public import SluiceModel
internal import SluiceQuery

/// All results of a query, and then what has changed, in batches: each object once with its last state. It ends when
/// nothing is left. Keep the ``ChangeBatch/checkpoint`` of the last batch that was handled, and pass it the next time. The
/// last batch is empty where only other objects have changed since, and says how far the log was read.
///
/// A checkpoint is worth nothing any more where the database has another history since, or where its log does not reach
/// back: ``ChangeBatch/isReset`` then says that all results follow once more. A ``Consumer`` keeps the checkpoint in the
/// database, and the log for it.
public struct Batches<Element: ResultElement>: AsyncSequence, Sendable {
    private let host: any JobHost
    private let query: JobQuery
    private let checkpoint: Checkpoint?
    private let limit: Int

    package init(
        _ host: any JobHost, since checkpoint: Checkpoint?, limit: Int, of query: @escaping JobQuery
    ) {
        self.host = host
        self.query = query
        self.checkpoint = checkpoint
        self.limit = limit
    }

    private static func batch(
        _ chunk: ConsumerChunk, _ range: Range<Int>, of host: any JobHost
    ) throws -> ChangeBatch<Element> { try ChangeBatch(chunk, range, of: host) }

    public func makeAsyncIterator() -> Iterator { Iterator(host, query, checkpoint, limit) }

    /// Reads one batch after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let host: any JobHost
        private let query: JobQuery
        private let limit: Int
        private var cursor: ChunkCursor
        /// The checkpoint of the last batch; before that, the one that was passed.
        private var told: Checkpoint?

        fileprivate init(_ host: any JobHost, _ query: @escaping JobQuery, _ checkpoint: Checkpoint?, _ limit: Int) {
            self.host = host
            self.query = query
            self.limit = limit
            cursor = ChunkCursor(checkpoint)
            told = checkpoint
        }

        /// Waits for the next batch; nil when nothing is left.
        ///
        /// - Throws: ``JobError/Code/foreignCheckpoint`` if the checkpoint is of another database, or of another query;
        ///   `QueryError`; ``ModelError``; `ServerError` or ``SyncError`` when the database cannot be used;
        ///   `CancellationError`.
        public mutating func next() async throws -> ChangeBatch<Element>? {
            while true {
                try Task.checkCancellation()
                if let (chunk, range) = cursor.next(limit) {
                    let batch = try Batches.batch(chunk, range, of: host)
                    cursor.advance(to: range.upperBound)
                    told = batch.checkpoint
                    return batch
                }
                let found = try await host.chunk(after: cursor.place, ChunkSizes(), of: query)
                if found.isReset, let place = cursor.place {
                    // The beginning is of the database and the query that were asked.
                    let isOfDatabase = place.databaseID == found.begin.databaseID
                    guard isOfDatabase, place.query == found.begin.query else {
                        let what = isOfDatabase ? "query" : "database"
                        throw JobError(
                            .foreignCheckpoint,
                            "the checkpoint is of another \(what): pass the one that was kept for this \(what), or nil to "
                                + "begin with all results")
                    }
                }
                guard cursor.take(found) else { continue }
                guard let end = cursor.place, end != told else { return nil }
                told = end
                return try Batches.batch(found, 0..<0, of: host)
            }
        }
    }
}

/// Some of what has changed in the results of a query.
public struct ChangeBatch<Element: ResultElement>: Sendable {
    /// The results that are new, or that were changed, as they are now.
    public let upserts: [ConsumerBatch<Element>.Item]
    /// The objects that are no results any more. There may be some that were never given.
    public let removals: [ConsumerBatch<Element>.Removal]
    /// Whether all results follow once more, and what was given before has lost its meaning.
    public let isReset: Bool
    /// Whether the batch is of the first reading of all results, in contrast to what has changed since.
    public let isReading: Bool
    /// Where to go on after the batch.
    public let checkpoint: Checkpoint
    /// The version of the database at which the batch was read.
    public let version: UInt64

    fileprivate init(_ chunk: ConsumerChunk, _ range: Range<Int>, of host: any JobHost) throws {
        (upserts, removals) = try chunk.items(in: range, of: host)
        isReset = chunk.isReset(in: range)
        isReading = chunk.isReading
        checkpoint = chunk.checkpoint(before: range.upperBound)
        version = chunk.version
    }
}
