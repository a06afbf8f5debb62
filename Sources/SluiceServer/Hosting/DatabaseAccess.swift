package import SluiceModel
package import SluiceQuery
package import SluiceStorage
internal import SluiceWire

/// What this process does with a database of its server, without a session. Any thread may use it.
///
/// Work runs on the database's queue, between the turns for clients and in the order of the calls. Results of queries are
/// read beside the queue, from a snapshot that is taken on it, so nobody waits for a long query.
package final class DatabaseAccess: Sendable {
    let worker: DatabaseWorker
    package let limits: DataLimits
    private let serverLimits: DatabaseLimits
    /// Tells the writes of this handle from those of others.
    private let handle: UInt64

    init(_ worker: DatabaseWorker, limits: DatabaseLimits, handle: UInt64) {
        self.worker = worker
        self.limits = limits.data
        serverLimits = limits
        self.handle = handle
    }

    package var name: String { worker.name }

    /// The most operations of one transaction.
    package var operationCountMax: Int { Int(serverLimits.server.operationCountMax) }

    /// Reads on the queue.
    ///
    /// - Throws: ``ServerError`` when the database cannot be used; what `body` throws.
    package func read<Result>(_ body: (any ObjectReading) throws -> Result) throws -> Result {
        try worker.performAndWait { engine, _ in try body(engine.objects) }
    }

    /// Does the same without blocking the calling thread.
    package func perform<Result: Sendable>(
        _ body: @escaping @Sendable (any ObjectReading) throws -> Result
    ) async throws -> Result { try await worker.perform { engine, _ in try body(engine.objects) } }

    /// Runs a query on a snapshot of the state at this call, beside the queue; in memory, on it.
    ///
    /// - Parameter body: reads; it may be called on any thread.
    package func query<Result: Sendable>(
        _ body: @escaping @Sendable (any ObjectReading) throws -> Result
    ) async throws -> Result {
        try await reading { engine, now in
            guard let snapshot = try engine.snapshot(at: now) else {
                return .done(try engine.reading(at: now, body))
            }
            return .beside(HandedOver(snapshot)) { try body($0) }
        }
    }

    /// Begins a read on the queue, and ends it beside the queue if there is more to do.
    func reading<Result: Sendable>(
        _ begin: @escaping @Sendable (DatabaseEngine, Timestamp) throws -> PendingRead<Result>
    ) async throws -> Result {
        switch try await worker.perform(begin) {
        case .done(let result): return result
        case .beside(let taken, let read):
            return try await withCheckedThrowingContinuation { continuation in
                worker.performBeside {
                    defer { taken.snapshot.close() }
                    continuation.resume(with: Swift.Result { try read(taken.snapshot) })
                }
            }
        }
    }

    /// Runs a transaction, see ``DatabaseEngine/write(by:as:holding:now:_:)``.
    package func write<Result: Sendable>(
        as userID: String?, holding duty: HeldDuty? = nil,
        _ body: @escaping @Sendable (SQLiteServerStorage, HybridTimestamp) throws -> OwnTransaction<Result>
    ) async throws -> Result {
        let handle = handle
        return try await worker.perform { engine, now in
            try engine.write(by: handle, as: userID, holding: duty, now: now, body)
        }
    }

    /// Changes records of jobs as far as the changes count, see ``DatabaseEngine/applyJobs(_:as:holding:now:)``.
    package func applyJobs(
        _ writes: [JobWrite], as userID: String?, holding duty: HeldDuty?
    ) async throws -> [Bool] {
        try await worker.perform { engine, now in
            try engine.applyJobs(writes, as: userID, holding: duty, now: now)
        }
    }

    /// Adds classes, properties and indexes to the schema.
    package func declare(_ schema: Schema) async throws {
        try await worker.perform { engine, _ in try engine.declare(schema) }
    }

    /// Begins to observe a query.
    ///
    /// - Parameters:
    ///   - query: makes the query for the schema as it is.
    ///   - inbox: where the changes arrive.
    /// - Returns: ends the observation.
    package func observe(
        _ query: @escaping @Sendable (Schema) throws -> Query, into inbox: ChangeInbox
    ) async throws -> @Sendable () -> Void {
        let handle = handle
        let worker = worker
        let number = try await worker.perform { engine, now in
            let (number, initial) = try engine.observe(query(engine.objects.schema), by: handle, inbox, now: now)
            worker.performBeside { initial.read() }
            return number
        }
        return {
            inbox.finish(nil)
            worker.performLater { $0.endObservation(number) }
        }
    }

    /// The status of the database, as the JSON that `sluice status` prints.
    package func status() async throws -> [UInt8] { try await worker.perform { engine, _ in try engine.status() } }

    /// The queries that clients observe, as the JSON that `sluice subscriptions` prints.
    package func subscriptions() async throws -> [UInt8] {
        try await worker.perform { engine, _ in try engine.subscriptionReport() }
    }
}
