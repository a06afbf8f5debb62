internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    func open(_ id: SessionID, _ open: ClientMessage.Open, user: User, now: Timestamp) {
        do {
            let isReadOnly = open.options.contains(.readOnly)
            try extendSchema(by: open.schema, mayAdd: user.mayExtendSchema && !isReadOnly)
            let client =
                isReadOnly
                ? identifyReader(open, now: now) : try identify(open, user: user, now: now)
            // A client whose old connection is not yet known to be dead comes back on a new one.
            if !isReadOnly, let stale = sessions.values.first(where: { $0.clientID == client.record.id }) {
                end(stale, .protocolViolation, "the client has opened another session", action: .retry)
            }
            let session = ServerSession(
                id: id, user: user, clientID: isReadOnly ? nil : client.record.id,
                isShortLived: open.options.contains(.shortLived), pageCredit: limits.server.pageCreditMax,
                unconfirmedNonce: isReadOnly ? nil : client.offer,
                // A client whose history was undone goes on with the numbers that it has.
                receivedSequence: client.outcome == .resumed ? client.record.sequence : 0)
            add(session)
            let identity = ClientIdentity(
                databaseID: storage.databaseID, epoch: storage.epoch, clientID: client.record.id, nonce: client.offer)
            let opened = ServerMessage.Opened(
                session: id.session, identity: identity, outcome: client.outcome, version: storage.version,
                acknowledged: client.record.sequence,
                rejections: client.outcome == .resumed && !isReadOnly
                    ? try storage.rejections(of: client.record.id) : [],
                userID: user.id, schema: storage.schema)
            send([.opened(opened)], to: id)
        } catch let error as SchemaError {
            let code: ErrorCode = error.code == .notAllowed ? .permissionDenied : .incompatibleSchema
            refuse(id, code, error.message, action: .stop)
        } catch {
            log?(.error, "a session could not be opened", [("database", name), ("error", "\(error)")])
            noteFailure(error)
            refuse(id, .internalError, Self.unusable(because: error), action: .retry)
        }
    }

    private func refuse(_ id: SessionID, _ code: ErrorCode, _ message: String, action: ErrorAction) {
        send([.error(.init(session: id.session, code: code, message: message, action: action))], to: id)
        actions.append(.end(id))
    }

    private struct Identified {
        var record: ClientRecord
        var offer: ObjectID
        var outcome: ServerMessage.OpenOutcome
    }

    /// Whether a client's objects are from this database, at a version in its history.
    private func knows(_ identity: ClientIdentity, at version: UInt64) -> Bool {
        identity.databaseID == storage.databaseID && storage.reaches(version, inEpoch: identity.epoch)
    }

    /// Identifies a reader, of which there is no record. Its objects are right as long as this database knows their
    /// version.
    private func identifyReader(_ open: ClientMessage.Open, now: Timestamp) -> Identified {
        let outcome: ServerMessage.OpenOutcome =
            open.identity.map { knows($0, at: open.version) ? .resumed : .reset } ?? .created
        let nobody = ObjectID(high: 0, low: 0)
        return Identified(
            record: ClientRecord(id: 0, userID: nil, nonce: nobody, createdAt: now), offer: nobody, outcome: outcome)
    }

    private func identify(_ open: ClientMessage.Open, user: User, now: Timestamp) throws -> Identified {
        guard let identity = open.identity else { return try makeClient(user, .created, now: now) }
        guard identity.databaseID == storage.databaseID else { return try makeClient(user, .reset, now: now) }
        let isInHistory = storage.reaches(open.version, inEpoch: identity.epoch)
        guard var record = try storage.client(identity.clientID) else {
            // A reader that begins to write has its objects, and needs an identity.
            if identity.clientID == 0 { return try makeClient(user, isInHistory ? .copied : .reset, now: now) }
            return try makeClient(user, try storage.hasGivenID(identity.clientID) ? .forgotten : .reset, now: now)
        }
        guard identity.nonce == record.nonce || identity.nonce == next(after: record.nonce, record.id) else {
            return try makeClient(user, isInHistory ? .copied : .reset, now: now)
        }
        guard isInHistory else { return try makeClient(user, .reset, accepted: record.sequence, now: now) }
        try transaction {
            record.nonce = identity.nonce
            record.version = open.version
            record.seenAt = now
            try storage.update(record)
            try storage.dropRejections(of: record.id, through: open.acknowledged)
        }
        return Identified(record: record, offer: next(after: record.nonce, record.id), outcome: .resumed)
    }

    /// - Parameter sequence: the last upload that counts as accepted from the client.
    private func makeClient(
        _ user: User, _ outcome: ServerMessage.OpenOutcome, accepted sequence: UInt64 = 0, now: Timestamp
    ) throws -> Identified {
        let record = try transaction {
            try storage.makeClient(
                userID: user.id, nonce: ObjectID(high: random(), low: random()), sequence: sequence,
                createdAt: now)
        }
        return Identified(record: record, offer: next(after: record.nonce, record.id), outcome: outcome)
    }

    private func next(after nonce: ObjectID, _ clientID: UInt64) -> ObjectID {
        NonceChain.next(after: nonce, clientID: clientID, databaseID: storage.databaseID)
    }

    /// Stores the nonce that was offered, since the first message after the opening proves that the client has stored
    /// it.
    func confirmNonce(of session: ServerSession) {
        guard let nonce = session.unconfirmedNonce, let clientID = session.clientID else { return }
        session.unconfirmedNonce = nil
        guardingStorage(session) {
            try transaction {
                guard var record = try storage.client(clientID) else { return }
                record.nonce = nonce
                try storage.update(record)
            }
        }
    }

    /// Adds classes that a client declares while it is connected.
    func declare(_ schema: Schema, session: ServerSession) {
        do {
            try extendSchema(by: schema, mayAdd: session.user.mayExtendSchema && session.clientID != nil)
            send([.schema(session: session.id.session, schema: storage.schema)], to: session.id)
        } catch let error as SchemaError {
            let code: ErrorCode = error.code == .notAllowed ? .permissionDenied : .incompatibleSchema
            end(session, code, error.message, action: .stop)
        } catch {
            log?(.error, "the schema could not be extended", [("database", name), ("error", "\(error)")])
            end(session, .internalError, Self.unusable(because: error), action: .retry)
        }
    }

    private func extendSchema(by schema: Schema, mayAdd: Bool) throws {
        var merged = storage.schema
        let additions = try merged.merge(schema, sides: ("the server", "this client"))
        guard !additions.isEmpty else { return }
        guard mayAdd else {
            let name = additions.classes.first.map { "the class '\(merged[$0].name)'" } ?? "new properties"
            throw SchemaError(
                .notAllowed, "the server does not have \(name), and this session may not add to its schema")
        }
        try becomeDurable()
        _ = try transaction { try storage.merge(schema, sides: ("the server", "this client")) }
        replays.removeAll()
        // Positions stay the same, but views must include the new properties.
        try starting.rebind(to: storage.schema)
        for view in views.values {
            let live = try makeView(view.query.rebound(to: storage.schema))
            index.remove(view.live)
            index.insert(live)
            view.replace(by: live)
        }
        automaticIndexes.replace(views.values.lazy.map(\.query), schema: storage.schema)
        for session in sessions.values {
            send([.schema(session: session.id.session, schema: storage.schema)], to: session.id)
        }
    }

    /// Begins a new epoch. Call it when an existing database is opened.
    package func beginEpoch() throws {
        try transaction { try storage.beginEpoch(random()) }
    }

    @discardableResult
    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try storage.begin()
        do {
            let result = try body()
            try storage.commit()
            return result
        } catch {
            storage.rollback()
            throw error
        }
    }
}
