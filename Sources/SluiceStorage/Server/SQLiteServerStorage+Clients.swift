package import SluiceModel

extension SQLiteServerStorage {
    package func makeClient(userID: String?, nonce: ObjectID, createdAt: Timestamp) throws -> ClientRecord {
        try requireTransaction()
        let sql = "INSERT INTO _clients (user, nonce, sequence, version, created) VALUES (?, ?, 0, 0, ?) RETURNING id"
        let id = try connection.withStatement(sql) { statement in
            statement.bind(1, userID)
            statement.bind(2, nonce)
            statement.bind(3, createdAt.microseconds)
            _ = try statement.step()
            return UInt64(statement.int(0))
        }
        return ClientRecord(id: id, userID: userID, nonce: nonce, createdAt: createdAt)
    }

    package func client(_ id: UInt64) throws -> ClientRecord? {
        let sql = "SELECT user, nonce, sequence, version, created FROM _clients WHERE id = ?"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: id))
            guard try statement.step() else { return nil }
            guard let nonce = statement.objectID(1) else {
                throw StorageError(.damaged, "\(connection.name): a client cannot be read; restore it from a backup")
            }
            return ClientRecord(
                id: id, userID: statement.isNull(0) ? nil : statement.string(0), nonce: nonce,
                sequence: UInt64(bitPattern: statement.int(2)), version: UInt64(bitPattern: statement.int(3)),
                createdAt: Timestamp(microseconds: statement.int(4)))
        }
    }

    package func update(_ client: ClientRecord) throws {
        try requireTransaction()
        let sql = "UPDATE _clients SET user = ?, nonce = ?, sequence = ?, version = ?, created = ? WHERE id = ?"
        try connection.withStatement(sql) { statement in
            statement.bind(1, client.userID)
            statement.bind(2, client.nonce)
            statement.bind(3, Int64(bitPattern: client.sequence))
            statement.bind(4, Int64(bitPattern: client.version))
            statement.bind(5, client.createdAt.microseconds)
            statement.bind(6, Int64(bitPattern: client.id))
            try statement.run()
        }
        try requireClient(client.id)
    }

    package func setClientProgress(_ id: UInt64, sequence: UInt64) throws {
        try requireTransaction()
        try connection.withStatement("UPDATE _clients SET sequence = ? WHERE id = ?") { statement in
            statement.bind(1, Int64(bitPattern: sequence))
            statement.bind(2, Int64(bitPattern: id))
            try statement.run()
        }
        try requireClient(id)
    }

    private func requireClient(_ id: UInt64) throws {
        guard connection.changeCount > 0 else {
            throw StorageError(.notFound, "\(connection.name) knows no client \(id)")
        }
    }
}
