internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    func open(_ id: SessionID, _ open: ClientMessage.Open, user: User, now: Timestamp) {
        do {
            try extendSchema(by: open.schema, user: user)
            let isReadOnly = open.options.contains(.readOnly)
            let login = isReadOnly ? nil : try identify(open.identity, user: user, now: now)
            // A client whose old connection is not yet known to be dead comes back on a new one.
            if let login, let stale = sessions.values.first(where: { $0.clientID == login.record.id }) {
                end(stale, .protocolViolation, "the client has opened another session", action: .retry)
            }
            let session = ServerSession(
                id: id, user: user, clientID: login?.record.id, openedAt: now,
                pageCredit: limits.server.pageCreditMax, unconfirmedNonce: login?.offer,
                receivedSequence: login?.record.sequence ?? 0)
            add(session)
            let identity = login.map {
                ClientIdentity(
                    databaseID: storage.databaseID, epoch: storage.epoch, clientID: $0.record.id, nonce: $0.offer)
            }
            let opened = ServerMessage.Opened(
                session: id.session, identity: identity, outcome: login?.outcome ?? .created, version: storage.version,
                acknowledged: login?.record.sequence ?? 0, userID: user.id, schema: storage.schema)
            send([.opened(opened)], to: id)
        } catch let error as SchemaError {
            let code: ErrorCode = error.code == .notAllowed ? .permissionDenied : .incompatibleSchema
            refuse(id, code, error.message, action: .stop)
        } catch {
            log?(.error, "a session could not be opened", [("database", name), ("error", "\(error)")])
            refuse(id, .internalError, "the server could not read or write its database", action: .retry)
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

    private func identify(_ identity: ClientIdentity?, user: User, now: Timestamp) throws -> Identified {
        var outcome = ServerMessage.OpenOutcome.created
        if let identity {
            outcome = .reset
            if identity.databaseID == storage.databaseID, identity.epoch == storage.epoch,
                var record = try storage.client(identity.clientID)
            {
                outcome = .copied
                if identity.nonce == record.nonce || identity.nonce == next(after: record.nonce, record.id) {
                    try transaction {
                        record.nonce = identity.nonce
                        try storage.update(record)
                    }
                    let offer = next(after: record.nonce, record.id)
                    return Identified(record: record, offer: offer, outcome: .resumed)
                }
            }
        }
        let record = try transaction {
            try storage.makeClient(userID: user.id, nonce: ObjectID(high: random(), low: random()), createdAt: now)
        }
        return Identified(record: record, offer: next(after: record.nonce, record.id), outcome: outcome)
    }

    private func next(after nonce: ObjectID, _ clientID: UInt64) -> ObjectID {
        NonceChain.next(after: nonce, clientID: clientID, databaseID: storage.databaseID)
    }

    /// The first message of an opened session proves that the client has stored the nonce it was offered.
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

    /// A client that learnt of new classes while connected.
    func declare(_ schema: Schema, session: ServerSession) {
        do {
            try extendSchema(by: schema, user: session.user)
            send([.schema(session: session.id.session, schema: storage.schema)], to: session.id)
        } catch let error as SchemaError {
            let code: ErrorCode = error.code == .notAllowed ? .permissionDenied : .incompatibleSchema
            end(session, code, error.message, action: .stop)
        } catch {
            log?(.error, "the schema could not be extended", [("database", name), ("error", "\(error)")])
            end(session, .internalError, "the server could not read or write its database", action: .retry)
        }
    }

    private func extendSchema(by schema: Schema, user: User) throws {
        var merged = storage.schema
        let additions = try merged.merge(schema, sides: ("the server", "this client"))
        guard !additions.isEmpty else { return }
        guard user.mayExtendSchema else {
            let name = additions.classes.first.map { "the class '\(merged[$0].name)'" } ?? "new properties"
            throw SchemaError(.notAllowed, "the server does not have \(name), and this user may not add to its schema")
        }
        try becomeDurable()
        _ = try transaction { try storage.merge(schema, sides: ("the server", "this client")) }
        // Positions stay, but views must see the new properties.
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
