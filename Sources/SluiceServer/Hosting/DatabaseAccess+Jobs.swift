package import SluiceModel
package import SluiceQuery
package import SluiceStorage

/// What jobs of this process do with a database.
extension DatabaseAccess {
    /// Reads records of jobs on the queue.
    package func jobs<Result: Sendable>(
        _ body: @escaping @Sendable (any JobRecords) throws -> Result
    ) async throws -> Result { try await worker.perform { engine, _ in try body(engine.jobs) } }

    /// Waits until a time of the server's wall clock, or until the task is cancelled.
    package func sleep(until time: Timestamp) async {
        let waiting = AsyncStream<Void>.makeStream()
        worker.call(at: time) { waiting.continuation.finish() }
        for await _ in waiting.stream {}
    }

    /// Says something about a job in the log.
    package func note(_ level: LogLevel, _ message: String, _ details: [(String, String)] = []) {
        worker.note(level, message, details)
    }

    /// The server's wall clock.
    package var time: Timestamp { worker.time }

    /// Finds what a consumer is to be given after a checkpoint; nothing but what the log tells of is read on the queue.
    ///
    /// - Parameters:
    ///   - checkpoint: nil to begin with all results.
    ///   - query: makes the query for the schema as it is.
    package func chunk(
        after checkpoint: Checkpoint?, _ sizes: ChunkSizes, of query: @escaping @Sendable (Schema) throws -> Query
    ) async throws -> ConsumerChunk {
        let step = try await worker.perform { engine, _ -> ConsumerStep in
            switch try engine.readForConsumer(query(engine.objects.schema), after: checkpoint, sizes) {
            case .chunk(let chunk): return .chunk(chunk)
            case .reading(let page):
                guard let snapshot = try engine.snapshot() else { return .chunk(try engine.read(page)) }
                return .page(page, TakenSnapshot(snapshot))
            }
        }
        guard case .page(let page, let taken) = step else {
            guard case .chunk(let chunk) = step else { fatalError("a step is a chunk or a page") }
            return chunk
        }
        return try await withCheckedThrowingContinuation { continuation in
            worker.performBeside {
                defer { taken.snapshot.close() }
                continuation.resume(with: Result { try page.read(in: taken.snapshot) })
            }
        }
    }

    /// Has a closure called after groups that have become durable, and when the server stops.
    ///
    /// - Returns: ends that.
    package func ring(_ ring: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let bells = worker.bells
        let number = bells.add(ring)
        return { bells.remove(number) }
    }
}

private enum ConsumerStep: Sendable {
    case chunk(ConsumerChunk)
    case page(ResultPage, TakenSnapshot)
}

/// A snapshot on its way from the queue to where it is read.
private struct TakenSnapshot: @unchecked Sendable {
    // Sound because one thread at a time has it.
    let snapshot: any ServerSnapshot

    init(_ snapshot: any ServerSnapshot) { self.snapshot = snapshot }
}
