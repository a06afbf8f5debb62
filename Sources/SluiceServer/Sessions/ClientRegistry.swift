internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Identifies clients, and keeps their records, which are steps of the journal.
///
/// Clients that come in one turn are identified in one group. Where another engine has appended to the journal
/// meanwhile, what it did is applied and they are identified anew, so that a client that moves between engines is known,
/// and no two clients get one id.
struct ClientRegistry {
    private let database: Database
    private let random: () -> UInt64

    private var storage: SQLiteServerStorage { database.storage }

    /// - Parameter random: makes random numbers for nonces.
    init(_ database: Database, random: @escaping () -> UInt64) {
        self.database = database
        self.random = random
    }

    /// A client that asks to open a session.
    struct Request {
        let open: ClientMessage.Open
        let user: User

        var isReadOnly: Bool { open.options.contains(.readOnly) }
    }

    struct Identified {
        var record: ClientRecord
        var offer: ObjectID
        var outcome: ServerMessage.OpenOutcome
        /// Whether nothing could be stored of the client, since the database cannot be written.
        var isUnstored = false
    }

    typealias Answer = Result<Identified, any Error>

    /// Identifies clients that open sessions, and stores that they came where that is possible.
    ///
    /// - Returns: an answer to each request.
    func identify(_ requests: [Request], now: Timestamp) -> [Answer] {
        if storage.damage == nil {
            if database.mustNotTry { return answer(requests, now: now, identifyUnstored) }
            do {
                try followIfReadersAreAhead(requests)
                guard requests.contains(where: { !$0.isReadOnly }) else {
                    return try identifyRecorded(requests, now: now)
                }
                return try database.transaction { try identifyRecorded(requests, now: now) }
            } catch let error as StorageError {
                if database.noteObstacle(error) { return answer(requests, now: now, identifyUnstored) }
                guard error.isOfDamage else { return requests.map { _ in .failure(error) } }
                database.noteFailure("a client's record could not be read or written", error)
            } catch { return requests.map { _ in .failure(error) } }
        }
        return requests.map { request in Answer { try identifyUnrecorded(request, now: now) } }
    }

    /// Applies what other engines have appended, if a reader's objects may be from there. A writer's record is a step,
    /// which fits nowhere but at the end of the journal.
    private func followIfReadersAreAhead(_ requests: [Request]) throws {
        let areAhead = requests.contains { request in
            request.isReadOnly && request.open.identity.map { !knows($0, at: request.open.version) } ?? false
        }
        if areAhead { try database.catchUp() }
    }

    /// Identifies readers by what they say, and writers in another way. Nobody is sent back to the start while the journal
    /// may have what this server does not know.
    private func answer(
        _ requests: [Request], now: Timestamp, _ writer: (Request, Timestamp) throws -> Identified
    ) -> [Answer] {
        requests.map { request in
            Answer {
                let client = request.isReadOnly ? identifyReader(request.open, now: now) : try writer(request, now)
                guard client.outcome == .reset, database.journal != nil, let obstacle = database.obstacle.error else {
                    return client
                }
                throw obstacle
            }
        }
    }

    /// Identifies clients; writers within a transaction.
    ///
    /// - Throws: ``StorageError``. What else is wrong with a request is its own answer.
    private func identifyRecorded(_ requests: [Request], now: Timestamp) throws -> [Answer] {
        try requests.map { request in
            do {
                return .success(
                    request.isReadOnly
                        ? identifyReader(request.open, now: now) : try identifyWriter(request, now: now))
            } catch let error as SessionEnd { return .failure(error) }
        }
    }

    /// Whether a client's objects are from this database, at a version in its history.
    private func knows(_ identity: ClientIdentity, at version: UInt64) -> Bool {
        identity.databaseID == storage.databaseID && storage.reaches(version, inEpoch: identity.epoch)
    }

    /// Identifies a reader, of which there is no record. Its objects are right as long as this database knows their
    /// version.
    private func identifyReader(_ open: ClientMessage.Open, now: Timestamp) -> Identified {
        var outcome = ServerMessage.OpenOutcome.created
        if let identity = open.identity {
            outcome = knows(identity, at: open.version) ? .resumed : .reset
        }
        let nobody = ObjectID(high: 0, low: 0)
        return Identified(
            record: ClientRecord(id: 0, userID: nil, nonce: nobody, createdAt: now), offer: nobody, outcome: outcome)
    }

    /// Identifies a client of a damaged database. Nothing is written about it, so its own word counts, and it is served
    /// what can be read.
    ///
    /// What the server does not know it may have lost itself, so a client does not have to drop what it has.
    private func identifyUnrecorded(_ request: Request, now: Timestamp) throws -> Identified {
        let reader = identifyReader(request.open, now: now)
        guard let identity = request.open.identity else { return reader }
        guard reader.outcome == .resumed else {
            throw storage.damage ?? StorageError(.damaged, "the client is not known")
        }
        var record = ClientRecord(id: identity.clientID, userID: nil, nonce: identity.nonce, createdAt: now)
        record.sequence = request.open.acknowledged
        return Identified(record: record, offer: identity.nonce, outcome: .resumed)
    }

    /// Identifies a client without storing anything. One that is new gets the identity of a reader, and its own later.
    private func identifyUnstored(_ request: Request, now: Timestamp) throws -> Identified {
        var result: Identified
        if let identity = request.open.identity, identity.clientID != 0 {
            guard knows(identity, at: request.open.version), let record = try storage.client(identity.clientID),
                record.isShown(by: identity)
            else {
                throw database.obstacle.error ?? StorageError(.busy, "the database is about to be opened for writing")
            }
            try check(request.user, against: record)
            // Nothing is offered that could not be stored.
            result = Identified(record: record, offer: identity.nonce, outcome: .resumed)
        } else {
            result = identifyReader(request.open, now: now)
        }
        result.isUnstored = true
        return result
    }

    private func identifyWriter(_ request: Request, now: Timestamp) throws -> Identified {
        let (open, user) = (request.open, request.user)
        guard let identity = open.identity else { return try makeClient(user, .created, now: now) }
        guard identity.databaseID == storage.databaseID else { return try makeClient(user, .reset, now: now) }
        let isInHistory = storage.reaches(open.version, inEpoch: identity.epoch)
        guard var record = try storage.client(identity.clientID) else {
            // A reader that begins to write has its objects, and needs an identity.
            if identity.clientID == 0 { return try makeClient(user, isInHistory ? .copied : .reset, now: now) }
            return try makeClient(user, try storage.hasGivenID(identity.clientID) ? .forgotten : .reset, now: now)
        }
        let isAhead = record.isOvertaken(by: identity)
        guard isAhead || record.isShown(by: identity) else {
            return try makeClient(user, isInHistory ? .copied : .reset, now: now)
        }
        try check(user, against: record)
        try storage.dropRejections(of: record.id, through: open.acknowledged)
        guard isInHistory else { return try makeClient(user, .reset, continuing: record, now: now) }
        record.offer = makeNonce(after: isAhead ? identity.nonce : record.offer)
        record.nonce = identity.nonce
        try storage.noteVisit(
            ClientVisit(
                clientID: record.id, userID: user.id, nonce: record.nonce, offer: record.offer, version: open.version,
                time: now))
        return Identified(record: record, offer: record.offer, outcome: .resumed)
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

    /// - Parameter former: the record that the client had, whose uploads are in this history; nil for none.
    private func makeClient(
        _ user: User, _ outcome: ServerMessage.OpenOutcome, continuing former: ClientRecord? = nil, now: Timestamp
    ) throws -> Identified {
        let record = try storage.makeClient(
            userID: user.id, nonce: makeNonce(), sequence: former?.sequence ?? 0, continuing: former?.id, createdAt: now
        )
        return Identified(record: record, offer: record.offer, outcome: outcome)
    }

    /// Makes the nonce that a client is to show the next time. Its low half is random, so that of two copies of a client's
    /// file that come one after the other only the last has the one that is stored. Its high half counts the offers from
    /// a random number, so that one which this history has lost can be told from one that has passed.
    ///
    /// - Parameter former: the nonce that the client was offered last; nil for a new client.
    private func makeNonce(after former: ObjectID? = nil) -> ObjectID {
        let fresh = ObjectID(high: random(), low: random())
        guard let former else { return fresh }
        return ObjectID(high: former.high &+ 1, low: fresh.low)
    }
}

extension ClientRecord {
    /// Whether a client is the one of the record: it shows the nonce that it was offered last, or the one before if it has
    /// not stored the offer.
    fileprivate func isShown(by identity: ClientIdentity) -> Bool {
        identity.nonce == nonce || identity.nonce == offer
    }

    /// How many offers to a client a history may lose of which it knows the client still. A guess would have to come this
    /// close to a number at random.
    private static let lostOfferCountMax: UInt64 = 65_536

    /// Whether a client is the one of the record, and shows a nonce that it was offered later: the history has lost the
    /// visit, since a backup was put back or the journal goes on without its last groups. No copy of the file that was
    /// made before the record's offer has that nonce, so what the record counts as accepted, the client has written.
    fileprivate func isOvertaken(by identity: ClientIdentity) -> Bool {
        (1...Self.lostOfferCountMax).contains(identity.nonce.high &- offer.high)
    }
}
