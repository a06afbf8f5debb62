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
            let client = try identify(open, isReadOnly: isReadOnly, user: user, now: now)
            let clientID = isReadOnly || client.record.id == 0 ? nil : client.record.id
            // The client comes back on a new connection before the server has noticed the end of the old one.
            if clientID != nil, let stale = sessions.values.first(where: { $0.clientID == clientID }) {
                end(stale, .protocolViolation, "the client has opened another session", action: .retry)
            }
            let session = ServerSession(
                id: id, user: user, isReadOnly: isReadOnly, clientID: clientID,
                isShortLived: open.options.contains(.shortLived), pageCredit: limits.server.pageCreditMax,
                unconfirmedNonce: clientID == nil || client.isUnstored ? nil : client.offer,
                // A client whose history was undone continues its own numbers.
                receivedSequence: client.outcome == .resumed ? client.record.sequence : 0)
            add(session)
            let identity = ClientIdentity(
                databaseID: storage.databaseID, epoch: storage.epoch, clientID: client.record.id, nonce: client.offer)
            let opened = ServerMessage.Opened(
                session: id.session, identity: identity, outcome: client.outcome, version: storage.version,
                acknowledged: client.record.sequence,
                rejections: client.outcome == .resumed && clientID != nil && storage.damage == nil
                    ? try storage.rejections(of: client.record.id) : [],
                userID: user.id, schema: storage.schema)
            send([.opened(opened)], to: id)
            if client.isUnstored, let error = obstacle.error { holdBack(session, because: error) }
        } catch let error as SchemaError {
            let code: ErrorCode = error.code == .notAllowed ? .permissionDenied : .incompatibleSchema
            refuse(id, code, error.message, action: .stop)
        } catch {
            noteFailure("a session could not be opened", error)
            let (code, action) = Self.consequence(of: error)
            refuse(id, code, unusable(because: error), action: action)
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
        /// Whether nothing could be stored of the client, since the database cannot be written.
        var isUnstored = false
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

    private func identify(
        _ open: ClientMessage.Open, isReadOnly: Bool, user: User, now: Timestamp
    ) throws -> Identified {
        if storage.damage == nil {
            if isReadOnly { return identifyReader(open, now: now) }
            if storage.obstacle != nil { return try identifyUnstored(open, now: now) }
            do { return try identify(open, user: user, now: now) } catch let error as StorageError {
                if noteObstacle(error) { return try identifyUnstored(open, now: now) }
                guard error.isOfDamage else { throw error }
                noteFailure("a client's record could not be read or written", error)
            }
        }
        return try identifyUnrecorded(open, now: now)
    }

    /// Identifies a client of a damaged database. Nothing is written about it, so its own word counts, and it is served
    /// what can be read.
    ///
    /// What the server does not know it may have lost itself, so a client does not have to drop what it has.
    private func identifyUnrecorded(_ open: ClientMessage.Open, now: Timestamp) throws -> Identified {
        let reader = identifyReader(open, now: now)
        guard let identity = open.identity else { return reader }
        guard reader.outcome == .resumed else {
            throw storage.damage ?? StorageError(.damaged, "the client is not known")
        }
        var record = ClientRecord(id: identity.clientID, userID: nil, nonce: identity.nonce, createdAt: now)
        record.sequence = open.acknowledged
        return Identified(record: record, offer: identity.nonce, outcome: .resumed)
    }

    /// Identifies a client without storing anything. One that is new gets the identity of a reader, and its own later.
    private func identifyUnstored(_ open: ClientMessage.Open, now: Timestamp) throws -> Identified {
        var result: Identified
        if let identity = open.identity, identity.clientID != 0 {
            guard knows(identity, at: open.version), let record = try storage.client(identity.clientID),
                identity.nonce == record.nonce || identity.nonce == next(after: record.nonce, record.id)
            else { throw obstacle.error ?? StorageError(.busy, "the database is about to be opened for writing") }
            result = Identified(record: record, offer: next(after: record.nonce, record.id), outcome: .resumed)
        } else {
            result = identifyReader(open, now: now)
        }
        result.isUnstored = true
        return result
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
            do {
                guard storage.damage == nil else { return }
                try transaction {
                    guard var record = try storage.client(clientID) else { return }
                    record.nonce = nonce
                    try storage.update(record)
                }
            } catch let error as StorageError where error.isOfDamage {
                // The session needs no record of its client.
                noteFailure("a client's record could not be written", error)
            }
        }
    }

    /// Adds classes that a client declares while it is connected.
    func declare(_ schema: Schema, session: ServerSession) {
        do {
            try extendSchema(by: schema, mayAdd: session.user.mayExtendSchema && session.clientID != nil)
            guard sessions[session.id] != nil else { return }
            send([.schema(session: session.id.session, schema: storage.schema)], to: session.id)
        } catch let error as SchemaError {
            let code: ErrorCode = error.code == .notAllowed ? .permissionDenied : .incompatibleSchema
            end(session, code, error.message, action: .stop)
        } catch {
            noteFailure("the schema could not be extended", error)
            end(session, because: error)
        }
    }

    private func extendSchema(by schema: Schema, mayAdd: Bool) throws {
        var merged = storage.schema
        let changes = try merged.merge(schema, sides: ("the server", "this client"))
        guard !changes.isEmpty else { return }
        if let damage = storage.damage { throw damage }
        guard mayAdd else {
            throw SchemaError(
                .notAllowed,
                "the server does not have \(changes.first(in: merged)), and this session may not change its schema")
        }
        try becomeDurable()
        _ = try transaction { try storage.merge(schema, sides: ("the server", "this client")) }
        guard !changes.reshapes else { return beginSessionsAnew() }
        replays.removeAll()
        pageCache.noteChangedViews()
        // Positions stay the same, but views must include the new properties.
        try starting.rebind(to: storage.schema)
        index.schema = storage.schema
        let changed = Set(shapes.grow(to: storage.schema).map(ObjectIdentifier.init))
        for view in views.values where changed.contains(ObjectIdentifier(view.live.shape)) {
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
        // A damaged database gets no further versions.
        if let damage = storage.damage { return noteFailure("an epoch could not be begun", damage) }
        do { try transaction { try storage.beginEpoch(random()) } } catch let error as StorageError
            where error.isOfDamage
        {
            noteFailure("an epoch could not be begun", error)
        }
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

extension SchemaChanges {
    /// One of the changes, for a message.
    fileprivate func first(in schema: Schema) -> String {
        if let index = classes.first { return "the class '\(schema[index].name)'" }
        guard let place = (properties + retypes.map(\.position) + renames.map(\.position) + indexes).first else {
            return "what the schema declares"
        }
        let declared = schema[place.classIndex]
        let property = declared.properties[place.property]
        let isNew = properties.contains(place)
        return isNew
            ? "the property '\(declared.name).\(property.name)'"
            : "'\(declared.name).\(property.name)' as this client declares it, \(property.type)"
    }
}
