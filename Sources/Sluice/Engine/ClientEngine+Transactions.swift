internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// What belongs to every transaction, and changes of the schema, which concern every part.
extension ClientEngine: StoreTransactionsDelegate {
    var needsChanges: Bool { !observations.isEmpty || transfers.hasListeners() }

    func transactionDidBegin(_ transaction: StoreTransaction) throws {
        storage.moveTime(to: now())
        try outbox.transactionDidBegin(transaction)
    }

    func transactionDidRollBack() throws {
        outbox.transactionDidRollBack()
        for record in storage.subscriptions { active.restore(record) }
        if schemas.takeChange() { rebind() }
        try images.rollBack()
        observations.followTime()
    }

    func transactionDidCommit(_ transaction: StoreTransaction, origin: ChangeOrigin) {
        outbox.transactionDidCommit()
        rejected.commit()
        if schemas.takeChange() { onSchemaGrowth?(schema) }
        observations.publish(transaction, origin: origin)
        faults.recording("what has travelled could not be read") {
            try transfers.report(transaction, isRemote: origin.isRemote)
        }
        offers.pump()
    }

    // MARK: The schema

    /// Takes in the server's schema, inside a transaction.
    ///
    /// - Throws: `SchemaError` when it contradicts what this store declares.
    func adopt(_ schema: Schema, _ transaction: StoreTransaction) throws {
        try adapt(to: schemas.adopt(schema), transaction)
    }

    func schemaGrew(_ schema: Schema) throws {
        try transactions.run(.catchUp(acceptedAt: now()), durably: true) { try adopt(schema, $0) }
        waiters.notify(.connected, .success(true))
        outbox.pump()
    }

    /// Extends the schema of this store, and of the server as soon as it is reached.
    ///
    /// - Parameter isDeferred: whether the server is told with the first upload of objects of these classes, so that it
    ///   keeps nothing if none comes about.
    package func declare(_ classes: [ClassSchema], isDeferred: Bool = false) throws {
        let additions = try schema.closure(of: classes)
        // A store that cannot be written may be opened for what it has.
        if try storage.obstacle == nil || !schema.includes(additions) {
            try transactions.run(.local) { transaction in
                try adapt(to: schemas.merge(additions, from: "the declaration"), transaction)
            }
        }
        try schemas.declare(additions, isDeferred: isDeferred)
        if !isDeferred, !additions.synced.classes.isEmpty, session.isActive, !options.isReadOnly {
            session.send([.declare(session: session.number, schema: schemas.standing)])
        }
    }

    /// Brings everything that was made for the schema before up to the schema of now.
    private func adapt(to changes: SchemaChanges, _ transaction: StoreTransaction) throws {
        guard !changes.isEmpty else { return }
        try subscriptions.adapt(to: changes, transaction)
        observations.rebind()
        if changes.reshapes { images.forgetEffects() }
    }

    private func rebind() {
        active.rebind(to: storage.schema)
        observations.rebind()
    }
}
