package import SluiceModel

extension SQLiteServerStorage {
    package func makeClient(
        userID: String?, nonce: ObjectID, sequence: UInt64, createdAt: Timestamp
    ) throws -> ClientRecord {
        try requireTransaction()
        let sql = """
            INSERT INTO _clients (user, nonce, sequence, version, created, seen) VALUES (?, ?, 0, 0, ?, ?) RETURNING id
            """
        let id = try connection.withStatement(sql) { statement in
            statement.bind(1, userID)
            statement.bind(2, nonce)
            statement.bind(3, createdAt.microseconds)
            statement.bind(4, createdAt.microseconds)
            _ = try statement.step()
            return UInt64(clamping: statement.int(0))
        }
        if sequence > 0 { try perform(.progress(client: id, sequence: sequence)) }
        return ClientRecord(id: id, userID: userID, nonce: nonce, sequence: sequence, createdAt: createdAt)
    }

    package func client(_ id: UInt64) throws -> ClientRecord? {
        let sql = "SELECT user, nonce, sequence, version, created, seen FROM _clients WHERE id = ?"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: id))
            guard try statement.step() else { return nil }
            guard let nonce = statement.objectID(1) else {
                throw StorageError.damaged(connection.name, "a client cannot be read")
            }
            return ClientRecord(
                id: id, userID: statement.isNull(0) ? nil : statement.string(0), nonce: nonce,
                sequence: UInt64(bitPattern: statement.int(2)), version: UInt64(bitPattern: statement.int(3)),
                createdAt: Timestamp(microseconds: statement.int(4)), seenAt: Timestamp(microseconds: statement.int(5)))
        }
    }

    package func update(_ client: ClientRecord) throws {
        try requireTransaction()
        let sql = """
            UPDATE _clients SET user = ?, nonce = ?, version = ?, created = ?, seen = ? WHERE id = ?
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, client.userID)
            statement.bind(2, client.nonce)
            statement.bind(3, Int64(bitPattern: client.version))
            statement.bind(4, client.createdAt.microseconds)
            statement.bind(5, client.seenAt.microseconds)
            statement.bind(6, Int64(bitPattern: client.id))
            try statement.run()
        }
        guard connection.changeCount > 0 else {
            throw StorageError(.notFound, "\(connection.name) knows no client \(client.id)")
        }
    }

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

    package func hasGivenID(_ id: UInt64) throws -> Bool {
        guard let last = try connection.integer("SELECT seq FROM sqlite_sequence WHERE name = '_clients'") else {
            return false
        }
        return id > 0 && id <= UInt64(clamping: last)
    }

    package var clientCount: Int {
        get throws { Int(try connection.integer("SELECT count(*) FROM _clients") ?? 0) }
    }

    package func noteSeen(_ clients: [UInt64], at time: Timestamp) throws {
        try requireTransaction()
        try connection.withStatement("UPDATE _clients SET seen = ?, version = ? WHERE id = ?") { statement in
            for client in clients {
                statement.bind(1, time.microseconds)
                statement.bind(2, Int64(version))
                statement.bind(3, Int64(bitPattern: client))
                try statement.run()
            }
        }
    }

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

    package func acceptedSequence(of client: UInt64) throws -> UInt64 {
        try connection.withStatement("SELECT sequence FROM _clients WHERE id = ?") { statement in
            statement.bind(1, Int64(bitPattern: client))
            return try statement.step() ? UInt64(bitPattern: statement.int(0)) : 0
        }
    }

    /// Stores up to where a client's uploads are accepted. A client that another engine registered gets a record that
    /// fits no nonce.
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
