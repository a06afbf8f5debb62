package import SluiceModel

/// The clients of a database: their ids, nonces and visits. They follow from the journal like its objects, so that every
/// engine of the database knows them, and two engines never give two clients one id.
///
/// A method that changes something makes a step of the transaction's own group.
extension SQLiteServerStorage {
    /// The name of the greatest id that a client was given, among the single values.
    private static let lastClient = "lastClient"

    private var lastClientID: UInt64 {
        get throws { UInt64(try meta.integer(Self.lastClient) ?? 0) }
    }

    /// Creates a client, with an id that no client has had before: the greatest so far and one more.
    ///
    /// - Parameters:
    ///   - sequence: the sequence of the last transaction that counts as acknowledged.
    ///   - former: the id that the client had, whose rejections it may not have heard of; nil for none.
    package func makeClient(
        userID: String?, nonce: ObjectID, sequence: UInt64 = 0, continuing former: UInt64? = nil, createdAt: Timestamp
    ) throws -> ClientRecord {
        let id = try lastClientID + 1
        try perform(
            .visit(
                ClientVisit(
                    clientID: id, userID: userID, nonce: nonce, offer: nonce, version: 0, time: createdAt)))
        // What is done last in a group says how far the client has come.
        if let former {
            for rejection in try numberedRejections(of: former) {
                try perform(.rejection(client: id, sequence: rejection.sequence, notice: rejection.notice))
            }
        }
        if sequence > 0 { try perform(.progress(client: id, sequence: sequence)) }
        return ClientRecord(id: id, userID: userID, nonce: nonce, sequence: sequence, createdAt: createdAt)
    }

    /// Records that a known client opens a session.
    ///
    /// - Throws: ``StorageError/Code/notFound`` for an unknown client.
    package func noteVisit(_ visit: ClientVisit) throws {
        guard try client(visit.clientID) != nil else {
            throw StorageError(.notFound, "\(connection.name) knows no client \(visit.clientID)")
        }
        try perform(.visit(visit))
    }

    /// Stores a client that opens a session.
    ///
    /// - Throws: ``StorageError/Code/journal`` if the client is a new one with another id than the next.
    func store(_ visit: ClientVisit) throws {
        let last = try lastClientID
        guard visit.clientID > 0, visit.clientID <= last + 1 else {
            throw StorageError(
                .journal, "\(connection.name): client \(visit.clientID) is registered, and the next is \(last + 1)")
        }
        let sql = """
            INSERT INTO _clients (id, user, nonce, sequence, version, created, seen) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?5) \
            ON CONFLICT (id) DO UPDATE SET user = excluded.user, nonce = excluded.nonce, version = excluded.version, \
            seen = excluded.seen
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: visit.clientID))
            statement.bind(2, visit.userID)
            statement.bind(3, Self.bytes(of: visit.nonce, visit.offer))
            statement.bind(4, Int64(bitPattern: visit.version))
            statement.bind(5, visit.time.microseconds)
            try statement.run()
        }
        if visit.clientID > last { try meta.set(Self.lastClient, Int64(clamping: visit.clientID)) }
    }

    /// A client by id; nil if there is none.
    package func client(_ id: UInt64) throws -> ClientRecord? {
        let sql = "SELECT user, nonce, sequence, version, created, seen FROM _clients WHERE id = ?"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: id))
            guard try statement.step() else { return nil }
            guard let (nonce, offer) = Self.nonces(in: statement.blob(1)) else {
                throw StorageError.damaged(connection.name, "a client cannot be read")
            }
            return ClientRecord(
                id: id, userID: statement.isNull(0) ? nil : statement.string(0), nonce: nonce,
                offer: offer, sequence: UInt64(bitPattern: statement.int(2)),
                version: UInt64(bitPattern: statement.int(3)),
                createdAt: Timestamp(microseconds: statement.int(4)), seenAt: Timestamp(microseconds: statement.int(5)))
        }
    }

    /// The nonce that a client has shown and the one that it was offered, as they are stored together.
    private static func bytes(of nonce: ObjectID, _ offer: ObjectID) -> [UInt8] {
        SQLBinding.bytes(of: nonce) + SQLBinding.bytes(of: offer)
    }

    /// - Returns: nil if the bytes are none of two nonces, or of one that stands for both.
    private static func nonces(in bytes: [UInt8]) -> (nonce: ObjectID, offer: ObjectID)? {
        guard bytes.count == 16 || bytes.count == 32, let nonce = ObjectID(Hexadecimal.encode(Array(bytes.prefix(16)))),
            let offer = ObjectID(Hexadecimal.encode(Array(bytes.suffix(16))))
        else { return nil }
        return (nonce, offer)
    }

    /// Stores that a client has the nonce that it was offered. Nothing happens if it was offered another one since: then
    /// two copies of its file have come, and the later one goes on. A client that was forgotten meanwhile stays so.
    func store(nonce: ObjectID, of client: UInt64) throws {
        guard try self.client(client)?.offer == nonce else { return }
        try connection.withStatement("UPDATE _clients SET nonce = ? WHERE id = ?") { statement in
            statement.bind(1, Self.bytes(of: nonce, nonce))
            statement.bind(2, Int64(bitPattern: client))
            try statement.run()
        }
    }

    /// Removes clients with their sequences and rejections.
    package func removeClients(_ ids: [UInt64]) throws {
        if !ids.isEmpty { try perform(.forgetting(ids)) }
    }

    func deleteClient(_ id: UInt64) throws {
        for sql in ["DELETE FROM _rejections WHERE client = ?", "DELETE FROM _clients WHERE id = ?"] {
            try connection.withStatement(sql) { statement in
                statement.bind(1, Int64(bitPattern: id))
                try statement.run()
            }
        }
    }

    /// Whether a client has ever had an id in this history, known or removed.
    package func hasGivenID(_ id: UInt64) throws -> Bool {
        let last = try lastClientID
        return id > 0 && id <= last
    }

    /// The number of clients. O(n).
    package var clientCount: Int {
        get throws { Int(try connection.integer("SELECT count(*) FROM _clients") ?? 0) }
    }

    /// Records that clients are connected and up to date.
    package func noteSeen(_ clients: [UInt64], at time: Timestamp) throws {
        if !clients.isEmpty { try perform(.seen(clients, at: time)) }
    }

    func storeSeen(_ clients: [UInt64], at time: Timestamp) throws {
        try connection.withStatement("UPDATE _clients SET seen = ?, version = ? WHERE id = ?") { statement in
            for client in clients {
                statement.bind(1, time.microseconds)
                statement.bind(2, Int64(version))
                statement.bind(3, Int64(bitPattern: client))
                try statement.run()
            }
        }
    }

    /// Removes clients that were last connected before a time, if the log no longer reaches back to their version or
    /// they never uploaded anything. One call looks at some clients, in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: where the last call stopped; 0 to begin.
    ///   - countMax: the most clients to look at.
    /// - Returns: how many were removed, and where to continue; nil after the last client.
    package func forgetClients(
        lastSeenBefore time: Timestamp, after id: UInt64, countMax: Int
    ) throws -> (count: Int, next: UInt64?) {
        var forgotten: [UInt64] = []
        var last: UInt64 = 0
        var count = 0
        let sql = "SELECT id, seen, version, sequence FROM _clients WHERE id > ? ORDER BY id LIMIT ?"
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: id))
            statement.bind(2, Int64(countMax))
            while try statement.step() {
                count += 1
                last = UInt64(bitPattern: statement.int(0))
                let isOutOfReach = UInt64(bitPattern: statement.int(2)) < logStart || statement.int(3) == 0
                if statement.int(1) < time.microseconds, isOutOfReach { forgotten.append(last) }
            }
        }
        try removeClients(forgotten)
        return (forgotten.count, count == countMax ? last : nil)
    }

    /// Up to where the uploads of a client are accepted or rejected; 0 for an unknown one.
    package func acceptedSequence(of client: UInt64) throws -> UInt64 {
        try connection.withStatement("SELECT sequence FROM _clients WHERE id = ?") { statement in
            statement.bind(1, Int64(bitPattern: client))
            return try statement.step() ? UInt64(bitPattern: statement.int(0)) : 0
        }
    }

    /// Stores up to where a client's uploads are accepted. A client that was forgotten meanwhile gets a record that fits
    /// no nonce.
    func storeProgress(of id: UInt64, _ sequence: UInt64, at time: Timestamp) throws {
        let sql = """
            INSERT INTO _clients (id, nonce, sequence, version, created, seen) VALUES (?1, zeroblob(16), ?2, 0, ?3, ?3) \
            ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: id))
            statement.bind(2, Int64(bitPattern: sequence))
            statement.bind(3, time.microseconds)
            try statement.run()
        }
    }
}
