package import SluiceModel
package import SluiceQuery
package import SluiceStorage

/// What jobs of this process do with a database.
extension DatabaseAccess {
    /// Reads records of jobs on the queue.
    ///
    /// - Parameter body: is given the version of the database, too.
    package func jobs<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteServerStorage, _ version: UInt64) throws -> Result
    ) async throws -> Result {
        try await worker.perform { engine, _ in try body(engine.database.storage, engine.database.storage.version) }
    }

    /// Waits until a time of the server's wall clock, or until the task is cancelled.
    package func sleep(until time: Timestamp) async {
        let waiting = AsyncStream<Void>.makeStream()
        worker.clock.call(at: time) { waiting.continuation.finish() }
        for await _ in waiting.stream {}
    }

    /// Says something about a job in the log.
    package func note(_ level: LogLevel, _ message: String, _ details: [(String, String)] = []) {
        worker.log?(level, message, [("database", worker.name)] + details)
    }

    /// The server's wall clock.
    package var time: Timestamp { worker.clock.now() }

    /// Finds what a consumer is to be given after a checkpoint; nothing but what the log tells of is read on the queue.
    ///
    /// - Parameters:
    ///   - checkpoint: nil to begin with all results.
    ///   - userID: the user who reads; nil for the server itself, which reads everything.
    ///   - query: makes the query for the schema as it is.
    package func chunk(
        after checkpoint: Checkpoint?, _ sizes: ChunkSizes, readBy userID: String? = nil,
        of query: @escaping @Sendable (Schema) throws -> Query
    ) async throws -> ConsumerChunk {
        try await reading { engine, now in
            try engine.chunk(after: checkpoint, sizes, readBy: userID, of: query, now: now)
        }
    }

    /// Reads what a query finds as a user may read it, both as of this call, beside the queue; in memory, on it. Brings the
    /// time of the database to the present for the query, and lets a group be made when time changes its results next.
    ///
    /// - Parameters:
    ///   - userID: nil for the server itself, which reads everything.
    ///   - query: makes the query for the schema as it is.
    ///   - body: reads; it may be called on any thread.
    /// - Throws: ``ServerError`` when the database cannot be used, or when the query names what the user may not read; what
    ///   `query` and `body` throw.
    package func query<Result: Sendable>(
        readBy userID: String?, _ query: @escaping @Sendable (Schema) throws -> Query,
        _ body: @escaping @Sendable (SQLiteObjectStore, Query) throws -> Result
    ) async throws -> Result {
        try await reading { engine, now in
            let query = try engine.jobQuery(readBy: userID, query, now: now)
            guard let snapshot = try engine.snapshot(at: now) else {
                return .done(try engine.reading(at: now) { try body($0, query) })
            }
            return .beside(HandedOver(snapshot)) { try body($0, query) }
        }
    }

    /// Has a closure called after groups that have become durable, when users may read something else, and when the server
    /// stops.
    ///
    /// - Returns: ends that.
    package func ring(_ ring: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let bells = worker.bells
        let number = bells.add(ring)
        return { bells.remove(number) }
    }
}
