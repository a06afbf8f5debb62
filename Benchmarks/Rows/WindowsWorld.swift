import Sluice
import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceWire

/// An engine over a database of flights in memory, which R6 subscribes to and writes to.
final class WindowsWorld {
    private let schema: Schema
    private let storage: SQLiteServerStorage
    private let engine: DatabaseEngine
    private let author = SessionID(connection: 1, session: 1)
    private var connection: UInt64 = 1
    private var sequence: UInt64 = 0
    private let now = Timestamp(microseconds: 1_700_000_000_000_000)
    private let flight: Int
    /// The positions of the two delays of a flight.
    private let delays: [Int]

    init(_ data: FlightData, flightCount: Int) throws {
        let schema = try Schema([
            Airline.modelDefinition.classSchema, Airport.modelDefinition.classSchema, Plane.modelDefinition.classSchema,
            Flight.modelDefinition.classSchema,
        ])
        guard let flight = schema.index(of: "Flight") else { throw BenchmarkError("there is no class Flight") }
        self.schema = schema
        self.flight = flight
        delays = ["departureDelay", "arrivalDelay"].compactMap { schema[flight].index(of: $0) }
        storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
        var limits = DatabaseLimits()
        limits.server.subscriptionCountMax = 1_000
        // A server keeps the pages for clients to come for ten seconds, and the clock stands still here.
        limits.idlePageRunCount = 0
        engine = DatabaseEngine(name: "flights", storage: storage, limits: limits) { 1 }
        open(author)
        try create(data.airlines)
        try create(data.airports)
        try create(data.planes)
        try create(data.flights(flightCount))
    }

    private func open(_ id: SessionID) {
        let open = ClientMessage.Open(session: id.session, path: "flights", schema: schema)
        _ = engine.handle([.open(id, open, User(id: nil, mayExtendSchema: true))], now: now)
    }

    private func create<Element: Model>(_ values: [Element]) throws {
        let binding = try ElementBinding(Element.self, className: Element.className, schema: schema)
        let operations = try values.map { value in
            let row = try value.encoded(for: binding)
            return ObjectOperation(
                ObjectRef(binding.classIndex, row.key),
                .create(row.values.enumerated().map { FieldOperation($0.offset, .set($0.element)) }))
        }
        for start in stride(from: 0, to: operations.count, by: 1_000) {
            _ = engine.handle(
                [upload(Array(operations[start..<min(start + 1_000, operations.count)]))], now: now)
        }
        let count = try storage.count(
            matching: try Query.parse("TRUEPREDICATE", className: Element.className, schema: schema))
        try check(count, is: values.count, "the stored \(Element.className)s")
    }

    private func upload(_ operations: [ObjectOperation]) -> DatabaseEvent {
        sequence += 1
        let changeset = Changeset(
            sequence: sequence, baseVersion: storage.version,
            timestamp: HybridTimestamp(microseconds: now.microseconds + Int64(sequence)), operations: operations)
        return .messages(author, [.upload(session: author.session, changesets: [changeset])])
    }

    /// Opens a session that subscribes to queries, and takes all pages.
    ///
    /// - Returns: the roots of each subscription that is complete.
    func subscribe(_ queries: some Sequence<String>) throws -> (id: SessionID, pages: [UInt64: Set<ObjectKey>]) {
        connection += 1
        let id = SessionID(connection: connection, session: 1)
        open(id)
        let requests = queries.enumerated().map { number, query in
            ClientMessage.subscribe(.init(session: 1, subscription: UInt64(number + 1), query: query))
        }
        var actions = engine.handle([.messages(id, requests)], now: now)
        for _ in requests {
            actions += engine.handle([.messages(id, [.credit(session: 1, pages: 8)])], now: now)
            while engine.hasWork { actions += engine.step(now: now) }
        }
        var roots: [UInt64: Set<ObjectKey>] = [:]
        var complete: Set<UInt64> = []
        for message in try messages(actions, to: id) {
            switch message {
            case .page(let page):
                for subscription in page.subscriptions {
                    for group in page.content.objects.groups where group.role == .root {
                        roots[subscription, default: []].formUnion(group.keys)
                    }
                }
            case .complete(let message): complete.insert(message.subscription)
            default: break
            }
        }
        return (id, Dictionary(uniqueKeysWithValues: complete.map { ($0, roots[$0] ?? []) }))
    }

    private func messages(_ actions: [DatabaseAction], to id: SessionID? = nil) throws -> [ServerMessage] {
        try actions.flatMap { action -> [ServerMessage] in
            switch action {
            case .send(let frame, let connection):
                id.map { $0.connection == connection } ?? true
                    ? try Frame.decode(frame, as: ServerMessage.self) : []
            case .broadcast(let frame, let connections), .offer(let frame, let connections):
                try connections.filter { connection in id.map { $0.connection == connection } ?? true }
                    .flatMap { _ in try Frame.decode(frame, as: ServerMessage.self) }
            case .consult: []
            case .end: throw BenchmarkError("a session was ended")
            }
        }
    }

    /// Sets the delays of flights, each in a transaction of its own, in one group.
    ///
    /// - Returns: how long the engine took, in seconds, and what it sent.
    func write(_ changes: [(key: ObjectKey, delay: Int)]) -> (seconds: Double, actions: [DatabaseAction]) {
        let events = changes.map { change in
            upload([
                ObjectOperation(
                    ObjectRef(flight, change.key),
                    .update(delays.map { FieldOperation($0, .set(.int(Int64(change.delay)))) }))
            ])
        }
        let start = ContinuousClock.now
        let actions = engine.handle(events, now: now)
        return ((ContinuousClock.now - start) / .seconds(1), actions)
    }

    /// How many subscriptions frames tell of a change.
    func mentionCount(in actions: [DatabaseAction]) throws -> Int {
        try messages(actions).reduce(0) { count, message in
            guard case .commit(let commit) = message else { return count }
            return count + commit.blocks.reduce(0) { $0 + $1.subscriptions.count }
        }
    }

    /// The keys of a query's results, in order.
    func keys(of text: String) throws -> [ObjectKey] {
        let query = try Query.parse(text, schema: schema)
        return try storage.roots(matching: query, after: nil).prefix(query.limit ?? .max).map(\.key)
    }

    /// Checks that the windows have the results that the database gives for their queries.
    func checkResults(of queries: [String]) throws {
        let pages = try subscribe(queries).pages
        for (number, query) in queries.enumerated() {
            try check(pages[UInt64(number + 1)] ?? [], is: Set(try keys(of: query)), "the results of \(query)")
        }
    }
}
