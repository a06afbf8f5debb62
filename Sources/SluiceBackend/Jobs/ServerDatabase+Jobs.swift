public import Sluice

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

    /// The consumers and queues of the database.
    public var jobs: Jobs { Jobs(host) }
}
