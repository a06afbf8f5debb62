internal import FoundationEssentials
public import Sluice
public import SluiceModel
internal import SluiceQuery
public import SluiceServer
internal import SluiceStorage

/// A database of a server in this process, to read, write and observe without a store, a socket or a second copy of the
/// data.
///
/// ```swift
/// let nyc = try await server.database("nyc", models: [Flight.self, Alert.self])
/// for try await change in nyc.objects(Flight.self).where({ $0.delay > 60 }).changes {
///     for flight in try change.insertions {
///         try await nyc.write { try $0.upsert(Alert(flight: flight.id, delay: flight.delay)) }
///     }
/// }
/// ```
///
/// Rules do not bind it. What it writes has the author `server` in the change events of others (`remote.userID`). Its
/// own observers are told of its writes as local ones, and so is nobody else.
public final class ServerDatabase: Sendable {
    let access: DatabaseAccess
    let bindings: DatabaseBindings
    /// Keeps the server open as long as it is used.
    private let server: SyncServer
    let inverses: InverseNames
    /// What the server must have when this handle writes; nil for nothing.
    private let duty: HeldDuty?

    init(_ server: SyncServer, _ name: String, models: [any Model.Type]) throws {
        self.server = server
        access = try server.access(to: name)
        bindings = DatabaseBindings(access)
        var names = InverseNames()
        for model in models {
            for inverse in model.declaredClass?.inverses ?? [] {
                names.add(inverse.name, on: model.className, source: inverse.origin())
            }
        }
        inverses = names
        duty = nil
    }

    /// A handle that writes only while the server has a duty.
    private init(_ other: ServerDatabase, holding duty: HeldDuty) {
        server = other.server
        access = other.access
        bindings = other.bindings
        inverses = other.inverses
        self.duty = duty
    }

    /// The database's name.
    public var name: String { access.name }

    /// The classes of the database as they are now.
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public var schema: Schema { get async throws { try await access.perform(\.schema) } }

    /// Adds classes, properties and indexes that the database does not have.
    ///
    /// - Throws: `SchemaError` when they contradict its schema; `ServerError` when the database cannot be used.
    public func declare(_ classes: [ClassSchema]) async throws { try await access.declare(Schema(classes)) }

    // MARK: Reading

    /// All objects of a model's class: a query to refine, fetch or observe. Making it reads nothing.
    public func objects<Element: Model>(_ type: Element.Type) -> ServerResults<Element> {
        ServerResults(self, QueryDescription(className: Element.className))
    }

    /// All objects of a class, as records.
    public func records(ofClass className: String) -> ServerResults<Record> {
        ServerResults(self, QueryDescription(className: className))
    }

    /// The records that a query in the query language finds. A name that the schema does not have is reported where the
    /// results are used.
    ///
    /// - Throws: `QueryError` when the text cannot be parsed.
    public func records(_ text: QueryText) throws -> ServerResults<Record> {
        ServerResults(self, try QueryDescription(text: text))
    }

    /// The records that a query finds whose text is only known at run time, as ``records(_:)-(QueryText)``.
    @_disfavoredOverload
    public func records(_ text: String) throws -> ServerResults<Record> { try records(QueryText(text)) }

    /// Reads the object with a primary key; nil if there is none. O(log n) in the number of objects of the class.
    ///
    /// - Throws: `ServerError` when the database cannot be used; `StoreError` when it lacks the class; `ModelError` when
    ///   the object cannot be read as its type; `RecordError` when the class's keys are of another type.
    public func object<Element: Model>(_ type: Element.Type, key: some PrimaryKeyValue) async throws -> Element? {
        let key = try Element.objectKey(key)
        let bindings = bindings
        return try await access.perform { objects in
            let scope = ServerWriteScope(bindings, schema: objects.schema)
            let classIndex = try scope.classIndex(of: Element.className)
            return try objects.row(ObjectRef(classIndex, key)).map {
                try Element.decode($0, scope.binding(of: type, classIndex: classIndex))
            }
        }
    }

    // MARK: Writing

    /// Runs a transaction: all of it becomes one version of the database, or nothing is stored. When this returns, it is
    /// synced to disk, and every read that begins afterwards sees it.
    ///
    /// It reads the state that it writes to: no other transaction comes between, so what it decides by what it has read
    /// is right. Its queries find what it has written, too; the first after a write costs about as much as that write
    /// again. Transactions run one at a time, in the order of the calls, on the queue that also serves clients: one
    /// that takes long delays everybody. A caller that awaits each write is slowed down to what the disk takes.
    ///
    /// Where several servers share a journal, another one may have written meanwhile. Then `body` runs again for the new
    /// state, also if it has written nothing or has thrown, and only its last run counts. So what has effects elsewhere
    /// belongs behind the call, not into `body`.
    ///
    /// - Parameter body: as in `Store.write(_:)`. It may run several times.
    /// - Returns: what the last run of `body` returns.
    /// - Throws: what `body` throws; `StoreError` when the transaction is too large; `ServerError` when the database
    ///   cannot be written or the server was stopped. Nothing is stored then, unless the code is
    ///   `ServerError.Code.outcomeUnknown`: then nobody knows.
    @discardableResult
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result { try await write(actingAs: nil, body) }

    /// Runs a transaction as a user would: the database's rules and the server's validators judge it, and others see the
    /// user as its author. What the transaction reads is not restricted; a change of what the user may not read has no
    /// effect, as in a store.
    ///
    /// - Parameters:
    ///   - user: the user's id. Rules that need claims find none.
    ///   - body: as in ``write(_:)``.
    /// - Returns: what `body` returns.
    /// - Throws: as ``write(_:)``; `ServerError.Code.rejected` when rules or validators do not let the user do this.
    @discardableResult
    public func write<Result: Sendable>(
        as user: String, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result { try await write(actingAs: user, body) }

    private func write<Result: Sendable>(
        actingAs user: String?, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        try await write(actingAs: user, with: [], body)
    }

    /// Runs a transaction that changes records of jobs, too: all of the changes count, or nothing of it does.
    ///
    /// - Throws: as ``write(_:)``; ``JobConflict``.
    func write<Result: Sendable>(
        actingAs user: String?, with jobs: [JobWrite],
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let (bindings, limits, countMax) = (bindings, access.limits, access.operationCountMax)
        let inverses = inverses
        let ids = ObjectIDGenerator.process
        let (result, receipt) = try await access.write(as: user, holding: duty) { objects, time in
            let pending = PendingObjects(objects)
            let writer = LocalWriter(
                pending, schema: objects.schema, limits: limits, isRecording: true
            ) {
                ListEdits.Author(origin: ids.origin, time: max(1, time.microseconds), ids: ids)
            }
            let scope = ServerWriteScope(bindings, schema: objects.schema, inverses: inverses)
            let result = try scope.open(writer) { try body(WriteTransaction(writer: writer, scope: scope)) }
            guard writer.operations.count <= countMax else {
                throw StoreError(
                    .transactionTooLarge,
                    "\(writer.operations.count) operations in one transaction; a server accepts at most \(countMax)")
            }
            return OwnTransaction((result, writer.receipt), writer.operations, jobs)
        }
        receipt?.noteAnswer(nil)
        return result
    }

    /// Changes records of jobs as far as the changes count.
    ///
    /// - Returns: for each change whether it was made.
    func applyJobs(_ writes: [JobWrite], actingAs user: String?) async throws -> [Bool] {
        try await access.applyJobs(writes, as: user, holding: duty)
    }

    // MARK: Duties

    /// Runs a task on one server of a cluster at a time: work with side effects, such as sending mails. Any number of
    /// servers may call this with the same name; one of them runs its task, and the others wait. On a server alone, the
    /// tasks of one name run one after the other.
    ///
    /// The server that runs the task has a lease, which it renews every three seconds and which ends ten seconds after
    /// the last renewal. When the server is killed, another one runs its task within 15 seconds. When it loses the lease
    /// otherwise, because PostgreSQL cannot be reached, say, its task is cancelled, and runs again from the beginning
    /// once the server has the lease again. So a task should end when it is cancelled, and find in the database what is
    /// done already.
    ///
    /// A server that was stopped for a while may go on with its task before it knows that another one has the lease. What
    /// the task writes through ``Lease/database`` is then not stored, since the journal compares the lease. Other systems
    /// can do so with ``Lease/term``.
    ///
    /// - Parameters:
    ///   - name: says which tasks are the same, within this database.
    ///   - body: the task.
    /// - Returns: what the task returns.
    /// - Throws: what the task throws while the server has the lease; `ServerError` when the server was stopped or cannot
    ///   take leases; `CancellationError` when the calling task was cancelled.
    public func alone<Result: Sendable>(
        _ name: String, _ body: @escaping @Sendable (Lease) async throws -> Result
    ) async throws -> Result {
        // A cluster knows the databases that were opened.
        _ = try await schema
        return try await server.duties.alone(Duty(name, ofDatabase: self.name)) { held in
            try await body(Lease(ServerDatabase(self, holding: held), held))
        }
    }

    // MARK: The database

    /// The status of the database: version, classes with their counts, sessions, and what happened since the server
    /// opened it. It counts the objects, O(n) without reading them, on the database's queue.
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func status() async throws -> ServerStatus {
        try JSONDecoder().decode(ServerStatus.self, from: Data(try await access.status()))
    }

    /// The queries that clients observe, by their canonical text.
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func subscriptions() async throws -> [ServerSubscription] {
        try JSONDecoder().decode([ServerSubscription].self, from: Data(try await access.subscriptions()))
    }
}

extension SyncServer {
    /// A database of this server, for code in the server's process: what a reactive backend needs. It works before
    /// ``start()`` too, and is created when there is something to keep.
    ///
    /// Each call returns a handle of its own: what one handle writes is a change by others to the observers of another.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, underscores and hyphens.
    ///   - models: the Swift types of its objects. Classes and properties that the database lacks are added.
    /// - Throws: ``ServerError`` when the name is none, when the database cannot be opened or when the server was
    ///   stopped; `SchemaError` when the models contradict the database's schema.
    public func database(_ name: String, models: [any Model.Type] = []) async throws -> ServerDatabase {
        let database = try ServerDatabase(self, name, models: models)
        let schema = try StoreConfiguration(models: models).wholeSchema()
        try await database.access.declare(schema)
        return database
    }
}
