public import Dispatch
internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// A query on a store, to fetch or to observe its results. Making one reads nothing and does not contact the server.
///
/// ``fetch()`` reads the results that are here now. Observing keeps the query in sync with the server until the
/// observation ends.
///
/// Results that were made in a write, by ``WriteTransaction/objects(_:)``, read what the write sees, and can be read
/// only as long as its body runs. They cannot be observed.
public struct Results<Element: ResultElement>: Sendable {
    /// Keeps the store open as long as results of it, or their tokens, exist.
    /// Nil for results of a transaction on a database of a server in this process.
    let hold: StoreLease?
    let refinement: QueryDescription<Element>
    /// The write that the results were made in; nil for results of the store.
    private let scope: (any ResultScope)?
    /// Whether observers hear of writes that begin or cease to be pending.
    private var reportsPending = false
    /// Whether observers ask the server nothing.
    private var isCached = false
    /// Whether what the query computes is read, and no objects.
    private var isOfFigures = false

    init(hold: StoreLease?, description: QueryDescription<Element>, in scope: (any ResultScope)? = nil) {
        self.hold = hold
        refinement = description
        self.scope = scope
    }

    /// The store that the results are of.
    ///
    /// - Precondition: the results are of a store.
    package var core: StoreCore {
        guard let hold else { preconditionFailure("results of a transaction on a server's database have no store") }
        return hold.core
    }

    /// Makes results of a query that refines this one.
    func refined(
        _ refine: (QueryDescription<Element>) -> QueryDescription<Element>
    ) -> Results {
        var results = Results(hold: hold, description: refine(refinement), in: scope)
        results.reportsPending = reportsPending
        results.isCached = isCached
        results.isOfFigures = isOfFigures
        return results
    }

    /// The same, for what reads what the query computes.
    func forFigures() -> Results {
        var results = self
        results.isOfFigures = true
        return results
    }

    /// The same results, whose observers also hear of objects that change in nothing but whether writes of them are
    /// pending, as modifications. ``ResultsSnapshot/hasPendingWrites(at:)`` then is right at any time, and not only as
    /// of the last event that changed what is shown.
    public func reportingPendingWrites() -> Results {
        var results = self
        results.reportsPending = true
        return results
    }

    /// The same results, whose observers ask the server nothing: they are told what matches of what is here, and of
    /// changes by whatever brings or makes them, such as writes, other observers, and ``synced(timeout:progress:)``,
    /// which asks the server once. Their state stays ``SubscriptionState/pending``, unless the class does not sync, and
    /// their end purges nothing.
    public func cached() -> Results {
        var results = self
        results.isCached = true
        return results
    }

    /// The query, checked against the store's schema.
    package func query() throws -> Query {
        if let scope { return try refinement.query(in: scope.schema, inverses: scope.inverses) }
        return try refinement.query(in: core.schema, inverses: core.inverses)
    }

    /// The query of results that are read.
    ///
    /// - Throws: `QueryError` also where it computes something, and objects are asked for.
    func readableQuery() throws -> Query {
        let query = try query()
        return isOfFigures ? query : try query.ofObjects()
    }

    /// The schema of what the results are read from.
    var schema: Schema { scope?.schema ?? core.schema }

    /// The query in its canonical form. Queries that mean the same have the same text.
    ///
    /// - Throws: `QueryError` when the query is malformed or names something that is not in the schema.
    public var canonicalText: String { get throws { try query().canonicalText } }

    // MARK: Reading

    /// Reads the objects that are here now, in order. It reads the disk and does not wait for the server.
    ///
    /// O(results), plus a sort of the matches unless an index has the order of the query.
    ///
    /// - Throws: `QueryError`; ``ModelError`` for the first object that cannot be read as its type, because its type
    ///   cannot represent a stored value, or because a query excluded a property that has no stand-in.
    ///   A ``snapshot()`` has the other objects.
    @inlinable
    public func fetch() throws -> [Element] {
        // Compiled where the type of the elements is known, so that decoding one is a direct call.
        var elements: [Element] = []
        let order = try forEachDecoder {
            elements.reserveCapacity($0)
        } decoding: {
            elements.append(try Element(from: $0))
        }
        return order.map { $0.map { elements[$0] } } ?? elements
    }

    /// Calls `body` with each result.
    ///
    /// - Parameter reserve: called before that with about how many they are, where that is known.
    /// - Returns: the positions, in the order of the query, of what `body` was called with; nil if it is in order.
    @usableFromInline
    func forEachDecoder(
        reserving reserve: (Int) -> Void, decoding body: (borrowing RowDecoder) throws -> Void
    ) throws -> [Int]? {
        let query = try readableQuery()
        return try read { reader in
            func binding(_ classIndex: Int) throws -> ElementBinding {
                try self.binding(ofClass: classIndex, in: reader.schema)
            }
            guard query.object == nil, !query.isPartial, query.sort.isEmpty else {
                let entries = try reader.sortedEntries()
                reserve(entries.count)
                try ResultEntry.forEachDecoder(of: entries, binding, body)
                return nil
            }
            // Results without sort, limit and stages are decoded as they are read.
            return try reader.forEachDecoder(binding(query.classIndex), reserving: reserve, body)
        }
    }

    /// How rows of a class are decoded as elements.
    func binding(ofClass classIndex: Int, in schema: Schema) throws -> ElementBinding {
        try scope?.binding(of: Element.self, classIndex: classIndex)
            ?? core.binding(of: Element.self, classIndex: classIndex, in: schema)
    }

    /// Reads the results that are here now, and decodes each object only when it is asked for. Costs as ``fetch()``,
    /// without the decoding. Where a property's type does not have every value that can be stored, as an enum, each
    /// object is decoded once to see whether it can be read; see ``ResultsSnapshot``.
    ///
    /// - Throws: `QueryError`; ``ModelError`` when the store's classes do not fit the type; ``StoreError`` when the
    ///   store is closed, or in a transaction on a database of a server in this process, of which there are no
    ///   snapshots.
    public func snapshot() throws -> ResultsSnapshot<Element> {
        guard hold != nil else { throw StoreError.noSnapshot }
        let query = try readableQuery()
        try checkFit(of: query)
        return try read { ResultsSnapshot(try $0.results(), of: query, total: try $0.total(), core: core) }
    }

    /// - Throws: ``ModelError`` when the store's classes do not fit the type, so that it could represent no object.
    private func checkFit(of query: Query) throws {
        // The class of an object that is asked for by its id is known once it is here.
        guard query.object == nil else { return }
        _ = try core.binding(of: Element.self, classIndex: query.classIndex)
    }

    /// Counts the objects that are here now, also those that cannot be read as their type. It finds all matches,
    /// O(matches), but decodes none, and sorts only if the query has stages.
    ///
    /// - Throws: `QueryError`; ``StoreError`` when the store is closed.
    public func count() throws -> Int { try read { try $0.count() } }

    /// Reads the first object that is here now; nil if there is none. Finding it costs as much as a query with LIMIT 1.
    ///
    /// - Throws: as ``fetch()``.
    public func first() throws -> Element? { try limit(1).fetch().first }

    /// Whether no object is here now. It ends with the first match, and decodes and sorts nothing unless the query has
    /// stages.
    ///
    /// - Throws: `QueryError`; ``StoreError`` when the store is closed.
    public var isEmpty: Bool { get throws { try read { try $0.isEmpty() } } }

    func read<Result>(_ body: (ResultReader) throws -> Result) throws -> Result {
        let query = try readableQuery()
        if let scope { return try scope.read(query, body) }
        let isAlone = core.configuration.sync == nil
        return try core.read { try body($0.resultReader(query, isAlone: isAlone)) }
    }

    // MARK: Syncing

    /// Waits until the server has named and sent every result, and returns the results. For batch jobs.
    ///
    /// A subscription that was complete in an earlier session does not suffice: without a connection this waits until
    /// the store has connected and caught up.
    ///
    /// A handler of ``observe(on:_:onError:)`` without a queue of its own has handled the event that says that the query
    /// is complete by the time that this returns. So a handler must not block until this returns.
    ///
    /// - Parameters:
    ///   - timeout: the longest wait without progress; nil waits without limit.
    ///   - progress: told how much of the answer is here, on a thread of the store: at once, whenever more has
    ///     come, and at last with an estimate of 1 before this returns. The estimate never falls. A slow one misses
    ///     values, and delays nothing.
    /// - Throws: ``SyncError`` when the server rejects the query, when nothing arrives in time, or when the store has
    ///   no server.
    @discardableResult
    public func synced(
        timeout: Duration? = nil, progress: (@Sendable (SyncProgress) -> Void)? = nil
    ) async throws -> [Element] {
        try await synced(timeout: timeout, progress: progress) { try fetch() }
    }

    /// Waits until the server has answered, and returns what `read` reads then.
    func synced<Value: Sendable>(
        timeout: Duration?, progress: (@Sendable (SyncProgress) -> Void)? = nil,
        _ read: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let query = try observable()
        return try await core.synced(query, isLocal: Self.isLocal, timeout: timeout, progress: progress, read)
    }

    /// Observes the results, and keeps the query in sync as long as the token exists.
    ///
    /// ```swift
    /// let token = try cheap.observe { change in
    ///     print(change)
    /// } onError: { error in
    ///     print("no more comes from the server: \(error)")
    /// }
    /// ```
    ///
    /// This returns at once, even while another thread writes. The first event has the results that are here; it is
    /// delivered once no transaction is open. If the handler is slow, consecutive commits of one origin may arrive as
    /// one event; one event never combines local and remote commits. A slow handler delays no other. Beginning an
    /// observation, reporting a change of an object and ending cost the same however many other observers there are.
    ///
    /// - Parameters:
    ///   - queue: where the handlers are called, such as the main queue; nil for a thread of the store.
    ///   - handler: called with one event at a time. When it throws, the observation has no more events; the query stays
    ///     in sync until the token is stopped or released.
    ///   - onError: called between events, on the same queue, with what the handler has thrown, and with why the server
    ///     answers no more: it rejects the query, or syncing has ended for good. ``StoreSession/status`` says the
    ///     latter by then. The event before has the state ``SubscriptionState/error`` and the same error, which is told
    ///     once. The observation goes on with what is written here, and with the server once syncing is begun again. If
    ///     it is nil, the store's log has what the handler has thrown.
    /// - Throws: `QueryError`; ``ModelError`` when the store's classes do not fit the type; ``StoreError`` when the
    ///   store is closed, or within a write. If the store's file fails later, the last event, and `onError`, say so.
    public func observe(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (Change<Element>) throws -> Void,
        onError: (@Sendable (any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        _ = try observable()
        let place: HandlerPlace = queue.map { .queue($0) } ?? .pool(core.handlers)
        return try begin(isPrompt: queue == nil) { event, ready, calls in
            place.run {
                calls.notify(event, handler, onError)
                ready()
            }
        }
    }

    /// The query, which a subscription can be made of.
    ///
    /// - Throws: ``StoreError/Code/insideWrite`` if the results were made in a write.
    private func observable() throws -> Query {
        guard scope == nil else {
            throw StoreError(
                .insideWrite, "results that were made in a write cannot be observed; make others of the store")
        }
        return try readableQuery()
    }

    /// The changes of the results as a sequence, with the same events as ``observe(on:_:onError:)``. Ending the
    /// iteration ends the observation and keeps the local data.
    public var changes: Changes<Element> { Changes(results: self, timeout: nil) }

    /// The changes of the results as ``changes``, for those who wait for an event and not for ever.
    ///
    /// - Parameter timeout: the longest wait for the next event, counted only while one waits. After a longer one the
    ///   sequence throws a ``SyncError`` with the code ``SyncError/Code/timedOut``, and ends.
    public func changes(timeout: Duration) -> Changes<Element> { Changes(results: self, timeout: timeout) }

    /// Whether the elements are known to be of a class that does not sync.
    private static var isLocal: Bool { (try? Element.declaredClass?.schema.get().isLocal) ?? false }

    typealias Ready = @Sendable () -> Void

    /// Begins an observation.
    ///
    /// - Parameters:
    ///   - isPrompt: whether events are delivered on a thread of the store's own.
    ///   - end: called when the store is closed.
    ///   - deliver: called with each event, what to call once the event is consumed, and what makes the calls of
    ///     handlers.
    func begin(
        isPrompt: Bool = false, end: @escaping @Sendable () -> Void = {},
        _ deliver: @escaping @Sendable (ResultEvent, @escaping Ready, ObservationCalls<Element>) -> Void
    ) throws -> NotificationToken {
        let query = try observable()
        try checkFit(of: query)
        let core = core
        let gate = core.gates.makeGate()
        let (reportsPending, isCached) = (reportsPending, isCached)
        let number = RegistrationNumber()
        let calls = ObservationCalls<Element>(gate, core, number)
        try core.performSoon { engine in
            let id = try engine.observe(
                query, readability: core.readability(of: Element.self, in: engine.schema),
                reportsPending: reportsPending, isPrompt: isPrompt, isLocal: Self.isLocal, isCached: isCached, end: end
            ) { event in
                let ready: Ready = { [weak core] in core?.performLater { $0.observerIsReady(number.value) } }
                deliver(event, ready, calls)
            }
            number.set(id)
        } orElse: { [weak core] error in
            if core?.isClosed ?? true { return end() }
            deliver(ResultEvent(failure: SyncError(.storage, "\(error)")), {}, calls)
        }
        return NotificationToken(gate: gate, purgesWhenReleased: core.configuration.purgesWhenTokenIsReleased) {
            [hold, weak core] ending in
            // If the store is closed already, its observations have ended.
            try? hold?.core.performAndWait { engine in
                guard let timeToLive = ending.timeToLive else {
                    return try engine.endObservation(
                        number.value, keeping: !ending.stopSyncing, purging: ending.purgeLocal)
                }
                engine.endEvents(number.value)
                core?.letGo(of: number.value, after: timeToLive, purging: ending.purgeLocal)
            }
        }
    }
}
