public import Sluice
public import SluiceModel

extension ServerDatabase {
    /// Makes a consumer of a query's results. Making it does nothing: `Consumer/run(_:)` takes the name.
    ///
    /// - Parameters:
    ///   - name: names the consumer among those of the database, by which it finds how far it has come.
    ///   - results: what it handles.
    ///   - user: the user whose rules decide what it reads and writes, and as whose writes its own count; nil for the
    ///     server, which rules do not bind. Rules that need claims find none.
    ///   - options: how it handles failures, and how much it is given at a time.
    public func consumer<Element: ResultElement>(
        _ name: String, of results: ServerResults<Element>, as user: String? = nil,
        options: Consumer<Element>.Options = .init()
    ) -> Consumer<Element> {
        Consumer(host(as: user), name, options) { try results.query(in: $0) }
    }

    /// Makes a queue of a query's results. Making it does nothing: `WorkQueue/run(workers:_:)` works at rows.
    ///
    /// - Parameters:
    ///   - name: names the queue among those of the database; everybody who works at it uses the same.
    ///   - results: the rows to work at, in their order.
    ///   - user: as for ``consumer(_:of:as:options:)``.
    ///   - options: how rows are claimed and tried again.
    public func queue<Element: ResultElement>(
        _ name: String, of results: ServerResults<Element>, as user: String? = nil,
        options: WorkQueue<Element>.Options = .init()
    ) -> WorkQueue<Element> {
        WorkQueue(host(as: user), name, options) { try results.query(in: $0) }
    }

    /// The consumers of the database, by name. O(consumers + dead letters).
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func consumers() async throws -> [ConsumerStatus] { try await host.consumers() }

    /// The queues of the database of which something is kept, by name. O(claims + dead rows).
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func queues() async throws -> [QueueStatus] { try await host.queues() }

    /// Removes what the database keeps of a consumer, its dead letters too. One that runs ends with
    /// `JobError/Code/superseded`; one that begins under the name begins with all results.
    ///
    /// - Throws: `ServerError` when the database cannot be written.
    public func removeConsumer(_ name: String) async throws { try await host.removeConsumer(name) }

    /// The objects that a consumer has given up, by key.
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func deadLetters(ofConsumer name: String) async throws -> [DeadLetter] {
        try await host.deadLetters(ofConsumer: name)
    }

    /// The rows of a queue that have failed for good, by key; as `WorkQueue/dead()`.
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func deadRows(ofQueue name: String) async throws -> [DeadLetter] {
        try await host.deadRows(ofQueue: name)
    }

    /// Makes a dead row of a queue due again; as `WorkQueue/retry(_:)`.
    ///
    /// - Returns: false if the row is not dead.
    /// - Throws: `ServerError` when the database cannot be written.
    @discardableResult
    public func retryDeadRow(_ object: Identity, ofQueue name: String) async throws -> Bool {
        try await host.retryDeadRow(object, ofQueue: name)
    }

    /// Has nobody told of a dead row of a queue any more; as `WorkQueue/discard(_:)`.
    ///
    /// - Returns: false if the row is not dead, or was discarded before.
    /// - Throws: `ServerError` when the database cannot be written.
    @discardableResult
    public func discardDeadRow(_ object: Identity, ofQueue name: String) async throws -> Bool {
        try await host.discardDeadRow(object, ofQueue: name)
    }

    /// Has a consumer handle an object once more that it has given up. One that runs does it when it has nothing else to
    /// do, another one the next time that it runs.
    ///
    /// - Returns: false if the consumer has not given it up.
    /// - Throws: `ServerError` when the database cannot be written.
    @discardableResult
    public func retryDeadLetter(_ object: Identity, ofConsumer name: String) async throws -> Bool {
        try await host.retryDeadLetter(object, ofConsumer: name)
    }

    /// Forgets that a consumer has given up an object.
    ///
    /// - Returns: false if the consumer has not given it up.
    /// - Throws: `ServerError` when the database cannot be written.
    @discardableResult
    public func discardDeadLetter(_ object: Identity, ofConsumer name: String) async throws -> Bool {
        try await host.discardDeadLetter(object, ofConsumer: name)
    }
}
