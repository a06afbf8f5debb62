package import SluiceWire

extension SQLiteServerStorage {
    /// The most refusals that are kept of a client that does not come back.
    package static let refusalCountMax = 1_000

    package func addRefusal(_ refusal: ServerMessage.Refusal, of client: UInt64) throws {
        try requireTransaction()
        let insertion = "INSERT OR REPLACE INTO _refusals (client, sequence, refusal) VALUES (?, ?, ?)"
        try connection.withStatement(insertion) { statement in
            statement.bind(1, Int64(bitPattern: client))
            statement.bind(2, Int64(bitPattern: refusal.sequence))
            statement.bind(3, refusal.wireBytes())
            try statement.run()
        }
        let trimming = """
            DELETE FROM _refusals WHERE client = ?1 AND sequence <= (SELECT sequence FROM _refusals WHERE client = ?1 \
            ORDER BY sequence DESC LIMIT 1 OFFSET \(Self.refusalCountMax))
            """
        try connection.withStatement(trimming) { statement in
            statement.bind(1, Int64(bitPattern: client))
            try statement.run()
        }
    }

    package func refusals(of client: UInt64) throws -> [ServerMessage.Refusal] {
        let sql = "SELECT refusal FROM _refusals WHERE client = ? ORDER BY sequence"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: client))
            var refusals: [ServerMessage.Refusal] = []
            while try statement.step() {
                refusals.append(
                    try StoredBlob.decode(
                        ServerMessage.Refusal.self, from: statement.blob(0), file: connection.name, what: "a refusal"))
            }
            return refusals
        }
    }

    package func dropRefusals(of client: UInt64, through sequence: UInt64) throws {
        try requireTransaction()
        try connection.withStatement("DELETE FROM _refusals WHERE client = ? AND sequence <= ?") { statement in
            statement.bind(1, Int64(bitPattern: client))
            statement.bind(2, Int64(bitPattern: sequence))
            try statement.run()
        }
    }
}
