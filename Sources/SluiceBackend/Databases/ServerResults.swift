public import Dispatch
public import Sluice
internal import SluiceQuery
internal import SluiceServer
internal import SluiceStorage

/// A query on a database of a server in this process, to fetch or to observe its results. Making one reads nothing.
public struct ServerResults<Element: ResultElement>: Sendable {
    let database: ServerDatabase
    let description: QueryDescription<Element>
    /// Whether what the query computes is read, and no objects.
    private var isOfFigures = false

    init(_ database: ServerDatabase, _ description: QueryDescription<Element>) {
        self.database = database
        self.description = description
    }

    /// The query under a schema.
    ///
    /// - Throws: `QueryError` also where it computes something, and objects are asked for.
    func query(in schema: Schema) throws -> Query {
        let query = try description.query(in: schema, inverses: database.inverses)
        return isOfFigures ? query : try query.ofObjects()
    }

    func refined(_ refine: (QueryDescription<Element>) -> QueryDescription<Element>) -> ServerResults {
        var results = ServerResults(database, refine(description))
        results.isOfFigures = isOfFigures
        return results
    }

    /// The same, for what reads what the query computes.
    func forFigures() -> ServerResults {
        var results = self
        results.isOfFigures = true
        return results
    }

    // MARK: Refining

    /// Keeps only the objects that also meet a condition in the query language, such as `"price < $0", 10_000`. SORT,
    /// DISTINCT, LIMIT and EXCLUDE may follow it. An error in it is thrown where the results are used.
    /// What is interpolated is a value: `"price < \(limit)"`.
    public func filter(_ text: QueryText, _ arguments: (any PropertyValue)?...) -> ServerResults {
        refined { $0.filter(text, arguments: arguments) }
    }

    /// Keeps only the objects that meet a condition whose text is only known at run time.
    @_disfavoredOverload
    public func filter<Text: StringProtocol>(_ text: Text, _ arguments: (any PropertyValue)?...) -> ServerResults {
        refined { $0.filter(QueryText(String(text)), arguments: arguments) }
    }

    /// Sorts by several keys, of which the first comes before all others. Sorting again refines the order.
    public func sorted(by keys: Sluice.SortKey<Element>...) -> ServerResults { refined { $0.sorted(by: keys) } }

    /// Keeps at most `count` objects: the first in the current order.
    public func limit(_ count: Int) -> ServerResults { refined { $0.adding(clauses: [.limit(count)]) } }

    /// Keeps only what stands strictly behind a place in the order.
    public func after(_ cursor: ResultCursor) -> ServerResults { refined { $0.adding(.after, cursor.literals) } }

    /// Keeps only what stands strictly before a place in the order.
    public func before(_ cursor: ResultCursor) -> ServerResults { refined { $0.adding(.before, cursor.literals) } }

    /// Also asks how many objects the condition finds, whatever the limit: ``DatabaseChange/total``, which comes with the
    /// commit that changes it.
    public func withTotal() -> ServerResults { refined { $0.adding(clauses: [.total()]) } }

    /// Leaves out the properties at these paths. A change of them is then no change of the results, and the objects
    /// that only they lead to are not kept in memory for an observation.
    public func excluding(_ paths: String...) -> ServerResults {
        refined { $0.excluding(paths) }
    }

    // MARK: Reading

    /// Reads the results as they are at this call; what this process wrote before is among them.
    ///
    /// They are read beside the queue that serves clients; those of a database in memory on it. Without a sort they come
    /// in no particular order. O(results), plus a sort of the matches unless an index has the order.
    ///
    /// - Throws: `QueryError`; `ModelError` for the first object that cannot be read as its type; `ServerError` when the
    ///   database cannot be used.
    public func fetch() async throws -> [Element] {
        try await database.access.query { objects in
            let query = try query(in: objects.schema)
            let rows = try objects.results(of: query)
            return try rows.map { object, row in
                try Element.decode(
                    row,
                    database.bindings.binding(
                        of: Element.self, classIndex: object.classIndex, schema: objects.schema))
            }
        }
    }

    /// Counts the results. It finds all matches, O(matches), but decodes none.
    ///
    /// - Throws: as ``fetch()``.
    public func count() async throws -> Int {
        try await database.access.query { objects in try objects.count(matching: query(in: objects.schema)) }
    }

    /// Reads the first result; nil if there is none. Finding it costs as much as a query with LIMIT 1.
    ///
    /// - Throws: as ``fetch()``.
    public func first() async throws -> Element? { try await limit(1).fetch().first }

    // MARK: Observing

    /// Observes the results as long as the token exists.
    ///
    /// The first event has all results as insertions; they are read beside the queue that serves clients. Then each
    /// event has what commits have changed. Only the changes take memory, not the results: except those of a query with
    /// a limit, and the objects that links lead to, unless they are excluded. While the handler is busy, changes of one
    /// origin gather into one event, with each object once, so a slow handler gets fewer and larger events.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; nil for a serial queue of the observation.
    ///   - onFailure: called once on that queue if the observation ends by itself: because the server was stopped, the
    ///     database cannot be read any more, or its schema lost what the query names.
    ///   - handler: called with one event at a time.
    /// - Throws: `QueryError`; `ServerError` when the database cannot be used.
    public func observe(
        on queue: DispatchQueue? = nil, onFailure: @escaping @Sendable (ServerError) -> Void = { _ in },
        _ handler: @escaping @Sendable (DatabaseChange<Element>) -> Void
    ) async throws -> NotificationToken {
        let (inbox, end) = try await begin()
        let gate = DeliveryGate()
        let delivery = Delivery(
            inbox, on: queue ?? DispatchQueue(label: "sluice.observation"), through: gate,
            { [database] in handler(DatabaseChange($0, database)) }, onFailure)
        delivery.start()
        return NotificationToken(gate: gate, purgesWhenReleased: false) { _ in end() }
    }

    /// The changes of the results as a sequence, with the same events as ``observe(on:onFailure:_:)``. Ending the
    /// iteration ends the observation; it also ends by throwing a `ServerError` where `onFailure` would be called.
    public var changes: DatabaseChanges<Element> { DatabaseChanges(results: self) }

    /// - Returns: where the changes arrive, and what ends the observation.
    func begin() async throws -> (ChangeInbox, @Sendable () -> Void) {
        let inbox = ChangeInbox()
        let end = try await database.access.observe({ try query(in: $0) }, into: inbox)
        return (inbox, end)
    }
}

extension ServerResults where Element: Model {
    /// Keeps only the objects that also meet a condition, such as `{ $0.price < 10_000 && $0.name == "Toyota" }`.
    public func `where`(_ condition: (Column<Element>) -> Condition) -> ServerResults {
        refined { $0.adding(condition) }
    }

    /// Keeps only the objects that also have a true Boolean property, such as `{ $0.isNew }`.
    public func `where`<Value: TruthValue>(_ property: (Column<Element>) -> Column<Value>) -> ServerResults {
        self.where { property($0).isTrue }
    }

    /// Sorts by a property, such as `\.price`. Sorting again refines the order.
    public func sorted<Value>(
        by path: KeyPath<Column<Element>, Column<Value>>, ascending: Bool = true
    ) -> ServerResults { sorted(by: ascending ? .ascending(path) : .descending(path)) }
}
