public import Dispatch
public import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// A local store of objects, on disk or in memory, that syncs what is observed.
///
/// Reading is synchronous and immediate, online or not. Writing is durable here at once and uploaded when the server is
/// reached. Observing a query subscribes to it. Several stores on one path share everything. A store stays open until
/// ``close()``, or until neither it nor results, tokens or sequences of it are about.
public final class Store: Sendable {
    package let core: StoreCore

    /// - Parameter core: held for this store.
    private init(core: StoreCore) { self.core = core }

    deinit { StoreRegistry.shared.release(core) }

    /// Opens a store, making its file if it is missing, and begins to sync if the configuration says with what.
    ///
    /// - Throws: ``StoreError`` when the file cannot be used (another program's, a newer version's, damaged, held by another
    ///   process; it is left untouched) or the configuration cannot; `SchemaError` when a class contradicts the stored one.
    public static func open(_ configuration: StoreConfiguration) async throws -> Store {
        Store(core: try await StoreRegistry.shared.core(for: configuration))
    }

    /// Ends syncing and every observation. What was written stays in the file, uploaded or not.
    ///
    /// Other ``Store`` values on the same path are closed too. Closing again does nothing.
    public func close() async {
        await StoreRegistry.shared.close(core)
    }

    /// The classes of this store: those it was opened with, and what the server has beyond them.
    public var schema: Schema { core.schema }

    /// Adds classes, or properties to classes, here and on the server.
    ///
    /// - Throws: `SchemaError` when they contradict what this store has. A rejection of the server's ends syncing and is
    ///   thrown by ``connected(timeout:)``.
    public func declare(_ classes: [ClassSchema]) async throws {
        try await core.perform { try $0.declare(classes) }
    }

    // MARK: Reading

    /// All objects of a model's class; a query to be refined, observed or fetched. Costs nothing.
    public func objects<Element: Model>(_ type: Element.Type) -> Results<Element> {
        Results(store: self, description: QueryDescription(className: Element.className))
    }

    /// All objects of a class, as records.
    public func records(ofClass className: String) -> Results<Record> {
        Results(store: self, description: QueryDescription(className: className))
    }

    /// The records of a query in the query language, such as `Car WHERE price < 9000 SORT(price ASC) LIMIT(20)`.
    ///
    /// - Throws: `QueryError` when the text cannot be parsed or names what the schema does not have.
    public func records(_ text: String) throws -> Results<Record> {
        let results = Results<Record>(store: self, description: try QueryDescription(text: text))
        _ = try results.query()
        return results
    }

    /// The object with a primary key, if it is here. O(log n) in the objects of its class.
    ///
    /// - Throws: ``StoreError`` when the store is closed or lacks the class; ``ModelError`` when the object misses what a
    ///   query excluded and nothing stands for it.
    public func object<Element: Model>(_ type: Element.Type, key: some PrimaryKeyValue) throws -> Element? {
        try core.fetch(type, ObjectRef(try core.classIndex(of: Element.className), try ObjectKey(primaryKey: key)))
    }

    /// The object with a global id, of whatever class, if it is here. O(log n) among keyless objects; those of a class with
    /// a primary key do not store their id and are gone through, O(n), unless the store has made an index of their ids,
    /// which it does once such an object is observed by id.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func object(_ id: ObjectID) throws -> Record? {
        guard let reference = try core.read({ try $0.findObject(id) }) else { return nil }
        return try core.fetch(Record.self, reference)
    }

    /// The object with a global id as a model; nil if it is not here or of another class. Costs as ``object(_:)``.
    ///
    /// - Throws: ``StoreError`` when the store is closed or lacks the class; ``ModelError`` when the object misses what a
    ///   query excluded and nothing stands for it.
    public func object<Element: Model>(_ type: Element.Type, id: ObjectID) throws -> Element? {
        guard let reference = try core.read({ try $0.findObject(id) }),
            reference.classIndex == core.schema.index(of: Element.className)
        else { return nil }
        return try core.fetch(type, reference)
    }

    /// One object as results, to be observed: by its value, whether or not it is here yet. Costs nothing.
    public func results<Element: Model>(of object: Element) -> Results<Element> {
        results(Element.self, id: object.objectID)
    }

    /// One object as results, to be observed: by its primary key, whether or not it is here yet. Costs nothing.
    ///
    /// - Throws: `RecordError` when a value of this type cannot be a key. What the store lacks shows when they are used.
    public func results<Element: Model>(_ type: Element.Type, key: some PrimaryKeyValue) throws -> Results<Element> {
        let key = try ObjectKey(primaryKey: key)
        return results(type, id: Identity(className: Element.className, key: key).objectID)
    }

    /// One object as results, to be observed: by its global id, whether or not it is here yet. Costs nothing.
    public func results<Element: ResultElement>(_ type: Element.Type, id: ObjectID) -> Results<Element> {
        Results(store: self, description: QueryDescription(object: id))
    }

    /// Observes one object, whether or not it is here yet, and keeps it in sync while the token lives: short for
    /// observing ``results(of:)``.
    ///
    /// - Parameters:
    ///   - object: names the object; its values do not matter.
    ///   - queue: where the handler is called; nil for a serial queue of the store.
    ///   - handler: called with one event at a time; `results` has the object, or nothing.
    /// - Throws: ``StoreError`` when the store is closed, or within a write.
    public func observe<Element: Model>(
        _ object: Element, on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (Change<Element>) -> Void
    ) throws -> NotificationToken {
        try results(of: object).observe(on: queue, handler)
    }

    // MARK: Writing

    /// Runs a transaction: everything in it is stored, visible and queued for upload, or nothing is.
    ///
    /// - Parameter body: runs on the store's own queue, one transaction at a time.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, or ``StoreError``; nothing is stored then.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let core = core
        return try await core.perform { engine in
            try engine.write { try body(WriteTransaction(writer: $0, core: core)) }
        }
    }

    // MARK: Syncing

    /// Waits until a session with the server is open and its schema known.
    ///
    /// - Parameter timeout: the longest wait in all, whether or not anything moves; nil waits for ever. Connecting goes on
    ///   after a timeout.
    /// - Throws: ``SyncError`` when the server refuses this store, in time nothing came about, or there is no server;
    ///   `CancellationError`.
    public func connected(timeout: Duration? = nil) async throws {
        try await core.connected(timeout: timeout)
    }

    /// Waits until everything written here is acknowledged, and so durable on the server.
    ///
    /// - Parameter timeout: the longest wait without progress; nil waits for ever. Uploading goes on after a timeout.
    /// - Throws: ``SyncError`` when syncing has ended, nothing moves in time, or there is no server; `CancellationError`.
    public func uploaded(timeout: Duration? = nil) async throws {
        try await core.uploaded(timeout: timeout)
    }

    /// Ends syncing of a query that a token was stopped for with `stopSyncing: false`.
    ///
    /// - Parameters:
    ///   - results: any results of the query.
    ///   - purgeLocal: also remove the query's objects from this store, as ``NotificationToken`` does.
    public func stopSyncing<Element>(_ results: Results<Element>, purgeLocal: Bool = false) throws {
        let query = try results.query()
        try core.performAndWait { try $0.stopSyncing(query, purging: purgeLocal) }
    }

    /// Removes what no query holds and is uploaded: objects written here outside any query, and what dormant queries left.
    ///
    /// - Returns: how many objects went.
    @discardableResult
    public func purgeUnsubscribed() async throws -> Int {
        try await core.perform { try $0.purgeUnsubscribed() }
    }

    /// Calls back whenever the server has rejected a write, after the objects show the server's state again.
    ///
    /// The first handler also gets what was rejected before it was there: the last thousand, at most.
    /// - Parameter handler: called on the serial queue of the store's callbacks, until the token is stopped or released or
    ///   the store is closed.
    public func onWriteRejected(_ handler: @escaping @Sendable (WriteRejection) -> Void) -> RejectionToken {
        core.rejections.add(handler)
    }

    /// How the server's database is: version, classes with counts, sessions, what happened since the server opened it.
    ///
    /// - Parameter timeout: the longest wait for a session and an answer; nil waits for ever.
    /// - Throws: ``SyncError`` when there is no session, no answer in time or no server, or the server refuses; `CancellationError`.
    public func serverStatus(timeout: Duration? = nil) async throws -> ServerStatus {
        try await core.report(.status, as: ServerStatus.self, timeout: timeout)
    }

    /// The queries that clients observe on the server's database, by their canonical text.
    ///
    /// - Parameter timeout: the longest wait for a session and an answer; nil waits for ever.
    /// - Throws: as ``serverStatus(timeout:)``.
    public func serverSubscriptions(timeout: Duration? = nil) async throws -> [ServerSubscription] {
        try await core.report(.subscriptions, as: [ServerSubscription].self, timeout: timeout)
    }
}
