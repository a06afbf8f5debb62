public import Dispatch
internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import Synchronization

/// A query on a store: what to look for, not what was found. Making one costs nothing and contacts nobody.
///
/// ``fetch()`` reads what is here now; observing keeps the query in sync with the server for as long as it lasts.
public struct Results<Element: ResultElement>: Sendable {
    /// Open at least as long as results of it, or their tokens, are about.
    private let store: Store
    private let refinement: QueryDescription<Element>

    init(store: Store, description: QueryDescription<Element>) {
        self.store = store
        refinement = description
    }

    package var core: StoreCore { store.core }

    /// Results of a query that was made from this one.
    func refined(
        _ refine: (QueryDescription<Element>) -> QueryDescription<Element>
    ) -> Results { Results(store: store, description: refine(refinement)) }

    /// The checked query.
    package func query() throws -> Query { try refinement.query(in: core.schema, inverses: core.inverses) }

    /// The query in its canonical form, which is equal for equal queries.
    ///
    /// - Throws: `QueryError` when the query is malformed or names what the schema lacks.
    public var canonicalText: String { get throws { try query().canonicalText } }

    // MARK: Reading

    /// The objects that are here now, in order. Reads the disk; never waits for the server.
    ///
    /// O(results), and a sort of what matches unless an index has its order.
    /// - Throws: `QueryError`; ``ModelError`` for the first object that cannot be read as its type, because a stored value is
    ///   none of the type's, or a query excluded what nothing stands for. ``ResultsSnapshot/readable()`` of ``snapshot()``
    ///   has the others.
    public func fetch() throws -> [Element] {
        let query = try query()
        guard query.object == nil, !query.isPartial, query.sort.isEmpty else {
            return try core.decode(Element.self, read { try $0.sortedEntries() })
        }
        // What nobody sorts or cuts becomes values as it is read.
        let binding = try core.binding(of: Element.self, classIndex: query.classIndex)
        return try read { try $0.elements(Element.self, binding) }
    }

    /// The results that are here now, decoded only as they are read. Costs as ``fetch()``, without the decoding.
    ///
    /// - Throws: `QueryError`; ``StoreError`` when the store is closed.
    public func snapshot() throws -> ResultsSnapshot<Element> {
        ResultsSnapshot(list: try read { try $0.results() }, core: core)
    }

    /// How many objects are here now. Finds all that `fetch()` would find, which costs O(matches), but sorts nothing
    /// unless the query is cut in stages, and makes no values.
    ///
    /// - Throws: `QueryError`; ``StoreError`` when the store is closed.
    public func count() throws -> Int { try read { try $0.count() } }

    /// The first object that is here now, or nil. Reads one object; finding it costs what a query with LIMIT 1 does.
    ///
    /// - Throws: as ``fetch()``.
    public func first() throws -> Element? { try limit(1).fetch().first }

    private func read<Result>(_ body: (ResultReader) throws -> Result) throws -> Result {
        let query = try query()
        let isAlone = core.configuration.sync == nil
        return try core.read { try body($0.resultReader(query, isAlone: isAlone)) }
    }

    // MARK: Syncing

    /// Waits until the server has named and sent every result, and returns them. For batch jobs.
    ///
    /// What an earlier session completed does not count: away from the server this waits for it to come back.
    /// - Parameter timeout: the longest wait without progress; nil waits for ever.
    /// - Throws: ``SyncError`` when the server refuses the query, nothing comes in time, or there is no server.
    public func synced(timeout: Duration? = nil) async throws -> [Element] {
        let query = try query()
        return try await core.synced(query, timeout: timeout) { try fetch() }
    }

    /// Observes the results, and keeps the query in sync while the token lives.
    ///
    /// Returns at once, also while another thread writes. The first event brings what is here; it comes as soon as no
    /// transaction is open. Consecutive commits of one origin may come as one event when the handler lags; local and
    /// remote ones never do. Beginning, a change of an object and ending each cost the same however many others observe.
    /// - Parameters:
    ///   - queue: where the handler is called, such as the main queue; nil for a serial queue of the store.
    ///   - handler: called with one event at a time.
    /// - Throws: `QueryError`; ``StoreError`` when the store is closed, or within a write. Where the store's file then fails,
    ///   an event has the state ``SubscriptionState/error``.
    public func observe(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (Change<Element>) -> Void
    ) throws -> NotificationToken {
        let core = core
        let queue = queue ?? core.callbacks
        return try begin { event, ready, gate in
            queue.async {
                gate.deliver { handler(Change(event, core: core)) }
                ready()
            }
        }
    }

    /// The results' changes as a sequence: the same events as ``observe(on:_:)``. Ending the iteration ends the observation
    /// and keeps the local data.
    public var changes: Changes<Element> { Changes(results: self) }

    typealias Ready = @Sendable () -> Void

    /// Begins an observation; `end` is called when the store is closed, and `deliver` gets each event and what to call when it has been consumed.
    func begin(
        end: @escaping @Sendable () -> Void = {},
        _ deliver: @escaping @Sendable (ResultEvent, @escaping Ready, DeliveryGate) -> Void
    ) throws -> NotificationToken {
        let query = try query()
        let gate = DeliveryGate()
        let core = core
        let number = ObservationNumber()
        try core.performSoon { engine in
            let id = try engine.observe(query, end: end) { event in
                let ready: Ready = { [weak core] in core?.performLater { $0.observerIsReady(number.value) } }
                deliver(event, ready, gate)
            }
            number.set(id)
        } orElse: { [weak core] error in
            if core?.isClosed ?? true { return end() }
            deliver(ResultEvent(failure: SyncError(.storage, "\(error)")), {}, gate)
        }
        return NotificationToken(gate: gate, purgesWhenReleased: core.configuration.purgesWhenTokenIsReleased) {
            [store] ending in
            // The store may be closed already; then so is the observation.
            try? store.core.performAndWait { engine in
                try engine.endObservation(number.value, keeping: !ending.stopSyncing, purging: ending.purgeLocal)
            }
        }
    }
}

/// The number of an observation, which its first event is delivered before anybody knows.
private final class ObservationNumber: Sendable {
    private let number = Atomic<UInt64>(0)

    var value: UInt64 { number.load(ordering: .sequentiallyConsistent) }

    func set(_ value: UInt64) { number.store(value, ordering: .sequentiallyConsistent) }
}
