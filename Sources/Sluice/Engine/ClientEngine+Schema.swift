internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

/// How the schema of this store changes: with what the application declares, and with what the server has.
extension ClientEngine {
    /// Takes in what a program declares, inside a transaction.
    func merge(_ other: Schema, from side: String, _ transaction: StoreTransaction) throws {
        try noteChanges(try storage.merge(other, sides: ("this store", side)), transaction)
    }

    /// Takes in the server's schema, inside a transaction.
    ///
    /// - Throws: `SchemaError` when it contradicts what this store declares.
    func adopt(_ schema: Schema, _ transaction: StoreTransaction) throws {
        var agreed = schema
        try agreed.merge(declarations.standing, sides: ("the server", "this store"))
        let changes = try storage.adopt(schema)
        session.serverSchema = schema
        session.map = SchemaMap(server: schema, store: storage.schema)
        declarations.note(server: schema)
        session.awaitsSchema = false
        try noteChanges(changes, transaction)
    }

    /// Brings everything that was made for the schema before up to the schema of now.
    private func noteChanges(_ changes: SchemaChanges, _ transaction: StoreTransaction) throws {
        guard !changes.isEmpty else { return }
        hasGrownSchema = true
        hasRenamedProperties = hasRenamedProperties || !changes.renames.isEmpty
        rebindQueries()
        for subscription in Array(subscriptions.values) { try refile(subscription) }
        guard changes.reshapes else { return }
        pendingEffects.removeAll()
        // Rows that are shown have other names or types now.
        for subscription in subscriptions.values { transaction.noteRebuild(subscription.record.id) }
    }

    /// Checks the queries against the schema of now.
    func rebindQueries() {
        for subscription in subscriptions.values {
            guard let query = try? subscription.query.rebound(to: schema) else { continue }
            subscription.rebind(query, schema: schema)
        }
        hub.rebind(engine: self)
    }

    /// Files a subscription under its query of now: a property may have another name, and so the query another text.
    private func refile(_ subscription: Subscription) throws {
        let query = subscription.query
        // Two queries, one by each name, may have become the same; the second stays filed as it was.
        guard query.hash != subscription.record.hash, subscriptions[query: query.hash] == nil,
            storage.subscription(toQuery: query.hash) == nil
        else { return }
        subscriptions.refile(subscription)
        try storage.updateSubscription(subscription.record)
    }

    /// A query in the names of now; its caller may have made it before a property got another name.
    func current(_ query: Query) -> Query {
        hasRenamedProperties && subscriptions[query: query.hash] == nil
            ? (try? query.rebound(to: schema)) ?? query : query
    }

    func schemaGrew(_ schema: Schema) throws {
        try transaction(.local) { transaction in try adopt(schema, transaction) }
        for (id, waiter) in connectionWaiters where waiter(.success(true)) { connectionWaiters[id] = nil }
        pumpUploads()
    }

    /// Extends the schema of this store, and of the server as soon as it is reached.
    ///
    /// - Parameter isDeferred: whether the server is told with the first upload of objects of these classes, so that it
    ///   keeps nothing if none comes about.
    package func declare(_ classes: [ClassSchema], isDeferred: Bool = false) throws {
        let additions = try schema.closure(of: classes)
        // A store that cannot be written may be opened for what it has.
        if try storage.obstacle == nil || !schema.includes(additions) {
            try transaction(.local) { transaction in try merge(additions, from: "the declaration", transaction) }
        }
        if session.map != nil { session.map = SchemaMap(server: session.serverSchema, store: schema) }
        try declarations.add(additions, isDeferred: isDeferred)
        if !isDeferred, session.isActive && !options.isReadOnly {
            send([.declare(session: SyncSession.number, schema: declarations.standing)])
        }
    }

    /// Whether the server knows every class and property that this store declares.
    package var schemaIsAgreed: Bool {
        guard session.isActive else { return false }
        var server = session.serverSchema
        return (try? server.merge(declarations.standing).isEmpty) ?? false
    }
}
