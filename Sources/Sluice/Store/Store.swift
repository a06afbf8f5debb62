public import Dispatch
public import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// A local store of objects, on disk or in memory, that keeps observed queries in sync with a server.
///
/// Reads use local data and do not wait for the server. A write is durable on this device at once, and is uploaded when
/// the server can be reached. Observing a query subscribes to it. Several stores on one path share everything. A store
/// stays open until ``close()``, or until the store and its results, tokens and sequences are all released.
public final class Store: Sendable {
    let hold: StoreLease
    package var core: StoreCore { hold.core }

    private init(_ core: StoreCore) { hold = StoreLease(core) }

    /// A value of a store that is open.
    init(_ hold: StoreLease) { self.hold = hold }

    /// Opens a store, creates its file if it is missing, and begins to sync if the configuration has a server.
    ///
    /// Where the store is open already, its settings must be those that it was opened with. Models and classes are added
    /// to those that it has. What it calls is replaced unless it is nil: ``StoreConfiguration/log``,
    /// ``StoreConfiguration/metrics``, ``StoreConfiguration/keepsRevokedObject``, ``ClientResetPolicy/before`` and
    /// ``ClientResetPolicy/after``. ``StoreConfiguration/startsSyncing`` has no effect then.
    ///
    /// - Throws: ``StoreError`` when the configuration is invalid, when the store is open with other settings, or when the file cannot be used because it belongs
    ///   to another program or a newer version, is damaged, or is held by another process; the file is left untouched.
    ///   `SchemaError` when a class contradicts the stored one.
    public static func open(_ configuration: StoreConfiguration) async throws -> Store {
        Store(try await StoreRegistry.shared.core(for: configuration))
    }

    /// Ends syncing and every observation. Everything that was written stays in the file, uploaded or not.
    ///
    /// No handler is called after this returns, of whichever kind and wherever it is called; it waits for calls that
    /// run, so a handler must not block until this returns. This also closes the other ``Store`` values on the same
    /// path. Closing again does nothing.
    public func close() async {
        await StoreRegistry.shared.close(core)
    }

    /// The classes of this store: those it was opened with, and those of the server.
    public var schema: Schema { core.schema }

    /// Adds classes, or properties of classes, here and on the server.
    ///
    /// - Throws: `SchemaError` when they contradict the store's schema. If the server rejects them, syncing ends, and
    ///   ``connected(timeout:)`` throws the reason.
    public func declare(_ classes: [ClassSchema]) async throws {
        try await core.perform { try $0.declare(classes) }
    }

    // MARK: Reading

    /// All objects of a model's class: a query to refine, fetch or observe. Making it reads nothing.
    public func objects<Element: Model>(_ type: Element.Type) -> Results<Element> {
        Results(hold: hold, description: QueryDescription(className: Element.className))
    }

    /// All objects of a class, as records.
    public func records(ofClass className: String) -> Results<Record> {
        Results(hold: hold, description: QueryDescription(className: className))
    }

    /// The records that a query in the query language finds, such as
    /// `Car WHERE price < 9000 SORT(price ASC) LIMIT(20)`.
    ///
    /// - Throws: `QueryError` when the text cannot be parsed or names something that is not in the schema.
    public func records(_ text: QueryText) throws -> Results<Record> {
        let results = Results<Record>(hold: hold, description: try QueryDescription(text: text))
        _ = try results.query()
        return results
    }

    /// The records that a query finds whose text is only known at run time, as ``records(_:)-(QueryText)``.
    @_disfavoredOverload
    public func records(_ text: String) throws -> Results<Record> { try records(QueryText(text)) }

    /// Reads the object with a primary key; nil if it is not here. O(log n) in the number of objects of the class.
    ///
    /// - Throws: ``StoreError`` when the store is closed or lacks the class; ``ModelError`` when the object cannot be
    ///   read as its type; `RecordError` when the class's keys are of another type.
    public func object<Element: Model>(_ type: Element.Type, key: some PrimaryKeyValue) throws -> Element? {
        try core.fetch(type, ObjectRef(try core.classIndex(of: Element.className), try Element.objectKey(key)))
    }

    /// Reads the object with an object id, whatever its class; nil if it is not here.
    ///
    /// O(log n) for keyless classes. Classes with a primary key do not store the id: finding an object reads all of
    /// their objects, O(n), unless the store has indexed their ids, which it does once such an object is observed by
    /// its id.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func object(_ id: ObjectID) throws -> Record? {
        guard let reference = try core.read({ try $0.findObject(id) }) else { return nil }
        return try core.fetch(Record.self, reference)
    }

    /// Reads the object with an object id as a model; nil if it is not here or of another class. Costs as
    /// ``object(_:)``.
    ///
    /// - Throws: ``StoreError`` when the store is closed; ``ModelError`` when the object cannot be read as its type.
    public func object<Element: Model>(_ type: Element.Type, id: ObjectID) throws -> Element? {
        guard let reference = try core.read({ try $0.findObject(id) }),
            reference.classIndex == core.schema.index(of: Element.className)
        else { return nil }
        return try core.fetch(type, reference)
    }

    /// Results that consist of one object, named by its value, whether or not it is here yet. Making them reads
    /// nothing.
    public func results<Element: Model>(of object: Element) -> Results<Element> {
        Results(hold: hold, description: QueryDescription(className: Element.className, key: object.objectKey))
    }

    /// Results that consist of one object, named by its primary key, whether or not it is here yet. Making them reads
    /// nothing.
    ///
    /// - Throws: `RecordError` when the class's keys are of another type. A class that the store lacks is reported
    ///   where the results are used.
    public func results<Element: Model>(_ type: Element.Type, key: some PrimaryKeyValue) throws -> Results<Element> {
        let key = try Element.objectKey(key)
        return Results(hold: hold, description: QueryDescription(className: Element.className, key: key))
    }

    /// Results that consist of one object, named by its object id, whether or not it is here yet. Making them reads
    /// nothing.
    ///
    /// Store and server find the object as ``object(_:)`` does, and keep the index of ids that this makes current from
    /// then on. Where the primary key is known, ``results(_:key:)`` needs no such index.
    public func results<Element: ResultElement>(_ type: Element.Type, id: ObjectID) -> Results<Element> {
        Results(hold: hold, description: QueryDescription(object: id))
    }

    /// Observes one object, whether or not it is here yet, and keeps it in sync as long as the token exists. Short for
    /// observing ``results(of:)``.
    ///
    /// - Parameters:
    ///   - object: names the object; its property values are not used.
    ///   - queue: where the handlers are called; nil for a thread of the store.
    ///   - handler: called with one event at a time; its `results` have the object, or are empty.
    ///   - onError: as in ``Results/observe(on:_:onError:)``.
    /// - Throws: ``StoreError`` when the store is closed, or within a write.
    public func observe<Element: Model>(
        _ object: Element, on queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (Change<Element>) throws -> Void,
        onError: (@Sendable (any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        try results(of: object).observe(on: queue, handler, onError: onError)
    }

    // MARK: Writing

    /// Runs a transaction: everything in it is stored, visible and queued for upload, or nothing is.
    ///
    /// The body is `@Sendable` and may run on another thread, so it captures no `var`: name it in a capture list, as in
    /// `write { [flight] in try $0.upsert(flight) }`, and return what it makes.
    ///
    /// - Parameter body: runs on the store's own queue, one transaction at a time. What it reads of the transaction, of
    ///   results of it (``WriteTransaction/objects(_:)``) and through links has what the body has written so far;
    ///   results of the store have the last commit.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, or ``StoreError``; then nothing is stored.
    @discardableResult
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let hold = hold
        // The block outlives the call for a moment and must not keep the store open then.
        defer { withExtendedLifetime(hold) {} }
        return try await core.perform { [unowned hold] engine in
            let metrics = hold.core.functions.metrics
            let start = metrics.map { _ in ContinuousClock.now }
            var isStored = false
            defer { if let start { metrics?.wrote(took: ContinuousClock.now - start, isStored: isStored) } }
            let result = try engine.write { writer in
                let scope = WriteScope(hold.core, writer)
                defer { scope.end() }
                return try body(WriteTransaction(writer: writer, hold: hold, scope: scope))
            }
            isStored = true
            return result
        }
    }

    // MARK: Syncing

    /// What syncing does now, and the ways to steer it; nil for a store without a server.
    public var session: StoreSession? { core.configuration.sync == nil ? nil : StoreSession(hold) }

    /// Waits until a session with the server is open and the store knows the server's schema.
    ///
    /// - Parameter timeout: the longest wait in all, with or without progress; nil waits without limit. The store goes
    ///   on connecting after a timeout.
    /// - Throws: ``SyncError`` when the server rejects this store, when no session opens in time, or when the store has
    ///   no server; `CancellationError`.
    public func connected(timeout: Duration? = nil) async throws {
        try await core.connected(timeout: timeout)
    }

    /// Goes on with other credentials. In an open session they are presented at once, and must be of the same user; a
    /// store whose syncing ended because of its credentials begins again.
    ///
    /// - Throws: ``StoreError`` when the store is closed. What the server thinks of the credentials shows in
    ///   ``connected(timeout:)``.
    public func authenticate(_ credentials: Credentials) async throws { try await core.authenticate(credentials) }

    /// Chooses other values of `$client` in the server's rules, in place of all that were chosen before: of
    /// ``SyncConfiguration/variables``, or here. In an open session what they bring and take away follows at once;
    /// otherwise they count from the next session on.
    ///
    /// - Parameter variables: single values and lists, by name; see ``SyncConfiguration/variables`` for how many.
    /// - Throws: ``StoreError`` when a value or a name is not one that a server takes, or when the store is closed.
    public func setVariables(_ variables: [String: Value]) async throws { try await core.setVariables(variables) }

    /// The session token that the server gave this store at its last login by password, for ``Credentials/session(_:)``
    /// when the store is next opened; nil if there is none. It is as secret as a password.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public var sessionToken: String? { get throws { try core.performAndWait { $0.sessionToken } } }

    /// Waits until the server has acknowledged everything written here, which makes it durable there.
    ///
    /// - Parameter timeout: the longest wait without progress; nil waits without limit. The store goes on uploading
    ///   after a timeout.
    /// - Throws: ``SyncError`` when syncing has ended, when nothing is acknowledged in time, or when the store has no
    ///   server; `CancellationError`.
    public func uploaded(timeout: Duration? = nil) async throws {
        try await core.uploaded(timeout: timeout)
    }

    /// Waits until the server has acknowledged one write, whatever was written after it.
    ///
    /// - Parameters:
    ///   - receipt: the write's receipt, which its body has returned (``WriteTransaction/receipt``). A write that
    ///     changed nothing has nothing to wait for.
    ///   - timeout: the longest wait without an acknowledgement of any write; nil waits without limit. The store goes
    ///     on uploading after a timeout.
    /// - Throws: ``SyncError`` with the server's reason when it rejects the write, by which time the handlers of
    ///   ``onWriteRejected(_:)`` have been told; as ``uploaded(timeout:)``; ``StoreError/Code/outsideWrite`` when the
    ///   write was not stored, because its body has thrown.
    public func uploaded(_ receipt: WriteReceipt, timeout: Duration? = nil) async throws {
        try await core.uploaded(receipt, timeout: timeout)
    }

    /// Starts over after syncing has ended with ``SyncError/Code/resetRequired``, in a mode chosen for this time. The
    /// store connects, and does what the mode says, even if that is the second time. It does nothing if no reset waits.
    ///
    /// - Parameter mode: what becomes of unsent writes; with `manual`, syncing ends again.
    /// - Throws: ``StoreError`` when the store is closed.
    public func resetSync(_ mode: ClientResetPolicy.Mode) async throws {
        try await core.perform { $0.resetSync(mode) }
    }

    /// The queries that this store keeps in sync, ordered by their text: those that somebody observes or waits for, and
    /// those that `stop(stopSyncing: false)` left in sync. It waits for an open write; O(n log n) for n queries.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func subscriptions() throws -> [StoreSubscription] { try core.performAndWait(\.storeSubscriptions) }

    /// Ends the syncing of a query whose token was stopped with `stopSyncing: false`.
    ///
    /// - Parameters:
    ///   - results: any results of the query.
    ///   - purgeLocal: whether to remove the query's objects from this store too, see
    ///     ``NotificationToken/stop(stopSyncing:purgeLocal:)``.
    public func stopSyncing<Element>(_ results: Results<Element>, purgeLocal: Bool = false) throws {
        let query = try results.query()
        try core.performAndWait { try $0.stopSyncing(query, purging: purgeLocal) }
    }

    /// Removes the objects that no subscription holds and that are uploaded: those written here outside any query, and
    /// those that dormant subscriptions left.
    ///
    /// - Returns: how many objects were removed.
    @discardableResult
    public func purgeUnsubscribed() async throws -> Int {
        try await core.perform { try $0.purgeUnsubscribed() }
    }

    /// Calls `handler` for each write that the server has rejected, after the objects show the server's state again.
    ///
    /// The first handler also receives the rejections that arrived before it was added, at most the last thousand.
    ///
    /// - Parameter handler: called on a thread of the store, with one rejection at a time, until the token is stopped or
    ///   released or the store is closed.
    public func onWriteRejected(_ handler: @escaping @Sendable (WriteRejection) -> Void) -> HandlerToken {
        core.rejections.add(handler)
    }

    /// Asks the server for the status of its database: version, classes with their counts, sessions, and what happened
    /// since the server opened it. It waits for a session, as ``connected(timeout:)`` does, and then for the answer.
    ///
    /// - Parameter timeout: the longest wait for both together; nil waits without limit, also while syncing is paused.
    /// - Throws: ``SyncError`` when there is no session or no answer in time, when the connection is lost before the
    ///   answer, when syncing is stopped or has ended, when the store has no server, or when the server rejects the
    ///   request; `CancellationError`.
    public func serverStatus(timeout: Duration? = nil) async throws -> ServerStatus {
        try await core.report(.status, as: ServerStatus.self, timeout: timeout)
    }

    /// Asks the server for the queries that clients observe on its database, by their canonical text. It waits as
    /// ``serverStatus(timeout:)`` does.
    ///
    /// - Parameter timeout: the longest wait for a session and the answer together; nil waits without limit.
    /// - Throws: as ``serverStatus(timeout:)``.
    public func serverSubscriptions(timeout: Duration? = nil) async throws -> [ServerSubscription] {
        try await core.report(.subscriptions, as: [ServerSubscription].self, timeout: timeout)
    }
}
