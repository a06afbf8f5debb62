package import SluiceWire

extension SQLiteServerStorage {
    /// The most rejections that are stored for one client.
    package static let rejectionCountMax = 1_000

    package func addRejection(_ rejection: ServerMessage.Rejection, of client: UInt64) throws {
        try requireTransaction()
        let insertion = "INSERT OR REPLACE INTO _rejections (client, sequence, rejection) VALUES (?, ?, ?)"
        try connection.withStatement(insertion) { statement in
            statement.bind(1, Int64(bitPattern: client))
            statement.bind(2, Int64(bitPattern: rejection.sequence))
            statement.bind(3, rejection.wireBytes())
            try statement.run()
        }
        let trimming = """
            DELETE FROM _rejections WHERE client = ?1 AND sequence <= (SELECT sequence FROM _rejections WHERE client = ?1 \
            ORDER BY sequence DESC LIMIT 1 OFFSET \(Self.rejectionCountMax))
            """
        try connection.withStatement(trimming) { statement in
            statement.bind(1, Int64(bitPattern: client))
            try statement.run()
        }
    }

    package func rejections(of client: UInt64) throws -> [ServerMessage.Rejection] {
        let sql = "SELECT rejection FROM _rejections WHERE client = ? ORDER BY sequence"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: client))
            var rejections: [ServerMessage.Rejection] = []
            while try statement.step() {
                rejections.append(
                    try StoredBlob.decode(
                        ServerMessage.Rejection.self, from: statement.blob(0), file: connection.name,
                        what: "a rejection"))
            }
            return rejections
        }
    }

    package func dropRejections(of client: UInt64, through sequence: UInt64) throws {
        try requireTransaction()
        try connection.withStatement("DELETE FROM _rejections WHERE client = ? AND sequence <= ?") { statement in
            statement.bind(1, Int64(bitPattern: client))
            statement.bind(2, Int64(bitPattern: sequence))
            try statement.run()
        }
    }
}
