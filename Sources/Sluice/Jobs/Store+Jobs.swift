public import SluiceModel
internal import SluiceQuery

/// Jobs that run beside a store, on the database of its server.
///
/// They are the same as those of a server's own process (`SluiceBackend`), and of one name one runs, wherever it is. What
/// they read comes from the server as it is there, and does not come into the store. What they write is written to the
/// store and uploaded, and counts only if the server still has the job's checkpoint or claim as the job knows it. The
/// server's rules say by the right `jobs` who may run them.
extension Store {
    /// Makes a consumer of a query's results. Making it does nothing: ``Consumer/run(_:)`` takes the name.
    ///
    /// - Parameters:
    ///   - name: names the consumer among those of the database, by which it finds how far it has come.
    ///   - results: what it handles.
    ///   - options: how it handles failures, and how much it is given at a time.
    public func consumer<Element: ResultElement>(
        _ name: String, of results: Results<Element>, options: Consumer<Element>.Options = .init()
    ) -> Consumer<Element> { Consumer(host, name, options, of: results.jobQuery) }

    /// Makes a queue of a query's results. Making it does nothing: ``WorkQueue/run(workers:_:)`` works at rows.
    ///
    /// What a worker returns is written to the store: an object that it changes must be in the store, or is upserted.
    ///
    /// - Parameters:
    ///   - name: names the queue among those of the database; everybody who works at it uses the same.
    ///   - results: the rows to work at, in their order.
    ///   - options: how rows are claimed and tried again.
    public func queue<Element: ResultElement>(
        _ name: String, of results: Results<Element>, options: WorkQueue<Element>.Options = .init()
    ) -> WorkQueue<Element> { WorkQueue(host, name, options, of: results.jobQuery) }

    /// The consumers and queues of the server's database.
    public var jobs: Jobs { Jobs(host) }

    /// The server's database as jobs use it.
    package var host: any JobHost { StoreJobHost(StoreLine(hold: hold)) }
}

extension Results {
    /// The results one by one as the server has them, read in pages that do not come into the store; see ``AsyncRows``.
    ///
    /// - Parameter page: how many are read at a time.
    public func rows(page: Int = 1_000) throws -> AsyncRows<Element> {
        AsyncRows(try jobHost(), page: page, of: jobQuery)
    }

    /// All results as the server has them, and then what has changed, in batches that do not come into the store; see
    /// ``Batches``.
    ///
    /// - Parameters:
    ///   - checkpoint: nil to begin with all results.
    ///   - limit: at most so many objects in a batch.
    public func changes(since checkpoint: Checkpoint?, limit: Int = 1_000) throws -> Batches<Element> {
        Batches(try jobHost(), since: checkpoint, limit: limit, of: jobQuery)
    }

    private func jobHost() throws -> any JobHost {
        guard let hold else { throw StoreError.outsideWrite }
        return StoreJobHost(StoreLine(hold: hold))
    }

    /// The query, for the schema of the server.
    var jobQuery: JobQuery {
        let (refinement, inverses) = (refinement, hold?.core.inverses)
        return { schema in try refinement.query(in: schema, inverses: inverses ?? InverseNames()).ofObjects() }
    }
}
