package import SluiceModel
package import SluiceWire

/// How a job beside a store reaches the server: it asks questions, and writes transactions that the store uploads.
package protocol JobLine: Sendable {
    /// The wall clock by which jobs wait.
    var time: Timestamp { get }

    /// Waits until a time of that clock, or until the task is cancelled.
    func sleep(until time: Timestamp) async

    /// Says something about a job in the log.
    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)])

    /// The schema of the store.
    var schema: Schema { get }

    /// Asks a question as soon as a session is open.
    ///
    /// - Returns: the answer's bytes, and the server's schema that they belong to.
    /// - Throws: ``SyncError``; with ``SyncError/Code/unreachable`` when the connection was lost before the answer, and with
    ///   another code when syncing has ended.
    func ask(_ question: ClientMessage.JobCall.Question) async throws -> (bytes: [UInt8], schema: Schema)

    /// Runs a transaction that carries changes of records of jobs, and waits until the server has taken it. What it
    /// writes to an object that others have deleted meanwhile, or that the user may not read any more, has no effect.
    ///
    /// - Throws: what `body` throws; ``SyncError`` when the server rejects it, or is not reached any more.
    func write<Result: Sendable>(
        _ jobs: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result

    /// How rows of a class are decoded as a type.
    func binding(of element: any ResultElement.Type, classIndex: Int, in schema: Schema) throws -> ElementBinding
}

/// The line of a store.
struct StoreLine: JobLine {
    let hold: StoreLease

    private var core: StoreCore { hold.core }
    private var environment: StoreEnvironment { core.configuration.environment }

    var time: Timestamp { environment.now() }

    func sleep(until time: Timestamp) async {
        let wait = Duration.microseconds(time.microseconds - self.time.microseconds)
        guard wait > .zero else { return }
        let waiting = AsyncStream<Void>.makeStream()
        environment.schedule(wait) { waiting.continuation.finish() }
        for await _ in waiting.stream {}
    }

    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)]) {
        core.functions.log?.about(.sync)(level, message, details)
    }

    var schema: Schema { core.schema }

    func ask(_ question: ClientMessage.JobCall.Question) async throws -> (bytes: [UInt8], schema: Schema) {
        try await core.ask(question)
    }

    func write<Result: Sendable>(
        _ jobs: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let (result, receipt) = try await Store(hold).write { transaction in
            transaction.writer.jobs = jobs
            return (try body(transaction), transaction.receipt)
        }
        do { try await core.uploaded(receipt, timeout: nil) } catch let error as SyncError where error == .withoutEffect
        {
            // The server has taken the transaction, and with it what it does to the job's records.
            note(.warning, "a job has written to an object that is not there any more", [("error", error.message)])
        }
        return result
    }

    func binding(of element: any ResultElement.Type, classIndex: Int, in schema: Schema) throws -> ElementBinding {
        try core.binding(of: element, classIndex: classIndex, in: schema)
    }
}
