internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Identifies clients, and keeps their records.
struct ClientRegistry {
    private let database: Database
    private let random: () -> UInt64

    private var storage: any ServerStorage { database.storage }

    /// - Parameter random: makes random numbers for nonces.
    init(_ database: Database, random: @escaping () -> UInt64) {
        self.database = database
        self.random = random
    }

    struct Identified {
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

    /// Identifies the client that opens a session, and stores that it came where that is possible.
    func identify(
        _ open: ClientMessage.Open, isReadOnly: Bool, user: User, now: Timestamp
    ) throws -> Identified {
        if storage.damage == nil {
            if isReadOnly { return identifyReader(open, now: now) }
            if storage.obstacle != nil { return try identifyUnstored(open, user: user, now: now) }
            do { return try identify(open, user: user, now: now) } catch let error as StorageError {
                if database.noteObstacle(error) { return try identifyUnstored(open, user: user, now: now) }
                guard error.isOfDamage else { throw error }
                database.noteFailure("a client's record could not be read or written", error)
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
    private func identifyUnstored(_ open: ClientMessage.Open, user: User, now: Timestamp) throws -> Identified {
        var result: Identified
        if let identity = open.identity, identity.clientID != 0 {
            guard knows(identity, at: open.version), let record = try storage.client(identity.clientID),
                identity.nonce == record.nonce || identity.nonce == next(after: record.nonce, record.id)
            else {
                throw database.obstacle.error ?? StorageError(.busy, "the database is about to be opened for writing")
            }
            try check(user, against: record)
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
        try check(user, against: record)
        guard isInHistory else { return try makeClient(user, .reset, accepted: record.sequence, now: now) }
        try database.transaction {
            record.nonce = identity.nonce
            record.userID = user.id
            record.version = open.version
            record.seenAt = now
            try storage.update(record)
            try storage.dropRejections(of: record.id, through: open.acknowledged)
        }
        return Identified(record: record, offer: next(after: record.nonce, record.id), outcome: .resumed)
    }

    /// Checks that a client comes back with the user that it had, since it may hold that user's objects and writes. One
    /// that was anonymous may get a user.
    private func check(_ user: User, against record: ClientRecord) throws {
        guard let owner = record.userID, owner != user.id else { return }
        throw SessionEnd(
            .authenticationFailed,
            "the store was synced for another user than the one who has logged in; open another store for this one",
            action: .stop)
    }

    /// - Parameter sequence: the last upload that counts as accepted from the client.
    private func makeClient(
        _ user: User, _ outcome: ServerMessage.OpenOutcome, accepted sequence: UInt64 = 0, now: Timestamp
    ) throws -> Identified {
        let record = try database.transaction {
            try storage.makeClient(
                userID: user.id, nonce: ObjectID(high: random(), low: random()), sequence: sequence,
                createdAt: now)
        }
        return Identified(record: record, offer: next(after: record.nonce, record.id), outcome: outcome)
    }

    private func next(after nonce: ObjectID, _ clientID: UInt64) -> ObjectID {
        NonceChain.next(after: nonce, clientID: clientID, databaseID: storage.databaseID)
    }

    /// Stores the nonce that a session was offered, since the first message after the opening proves that the client has
    /// stored it.
    ///
    /// - Throws: ``StorageError`` that ends the session.
    func confirmNonce(of session: ServerSession) throws {
        guard let nonce = session.unconfirmedNonce, let clientID = session.clientID else { return }
        session.unconfirmedNonce = nil
        do {
            guard storage.damage == nil else { return }
            try database.transaction {
                guard var record = try storage.client(clientID) else { return }
                record.nonce = nonce
                try storage.update(record)
            }
        } catch let error as StorageError where error.isOfDamage {
            // The session needs no record of its client.
            database.noteFailure("a client's record could not be written", error)
        }
    }
}
