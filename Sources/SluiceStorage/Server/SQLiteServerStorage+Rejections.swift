extension SQLiteServerStorage {
    /// The most rejections that are stored for one client.
    package static let rejectionCountMax = 1_000

    func storeRejection(_ notice: [UInt8], sequence: UInt64, of client: UInt64) throws {
        let insertion = "INSERT OR REPLACE INTO _rejections (client, sequence, rejection) VALUES (?, ?, ?)"
        try connection.withStatement(insertion) { statement in
            statement.bind(1, Int64(bitPattern: client))
            statement.bind(2, Int64(bitPattern: sequence))
            statement.bind(3, notice)
            try statement.run()
        }
    }

    /// Drops the earliest rejections of a client beyond those that are stored. Once for a group, since it looks at all.
    func trimRejections(of client: UInt64) throws {
        let trimming = """
            DELETE FROM _rejections WHERE client = ?1 AND sequence <= (SELECT sequence FROM _rejections WHERE client = ?1 \
            ORDER BY sequence DESC LIMIT 1 OFFSET \(Self.rejectionCountMax))
            """
        try connection.withStatement(trimming) { statement in
            statement.bind(1, Int64(bitPattern: client))
            try statement.run()
        }
    }

    /// What a client is to be told of its rejected transactions, as the journal has it, ascending by sequence. The last
    /// thousand are kept until the client confirms them.
    package func rejections(of client: UInt64) throws -> [[UInt8]] { try numberedRejections(of: client).map(\.notice) }

    /// ``rejections(of:)`` with their sequences.
    func numberedRejections(of client: UInt64) throws -> [(sequence: UInt64, notice: [UInt8])] {
        let sql = "SELECT sequence, rejection FROM _rejections WHERE client = ? ORDER BY sequence"
        return try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: client))
            var rejections: [(sequence: UInt64, notice: [UInt8])] = []
            while try statement.step() {
                rejections.append((UInt64(bitPattern: statement.int(0)), statement.blob(1)))
            }
            return rejections
        }
    }

    /// Drops the rejections that a client has confirmed.
    ///
    /// - Parameter sequence: the highest of their sequences.
    package func dropRejections(of client: UInt64, through sequence: UInt64) throws {
        try requireTransaction()
        let sql = "SELECT 1 FROM _rejections WHERE client = ? AND sequence <= ? LIMIT 1"
        let hasAny = try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(bitPattern: client))
            statement.bind(2, Int64(bitPattern: sequence))
            return try statement.step()
        }
        if hasAny { try perform(.confirmation(client: client, sequence: sequence)) }
    }

    func removeRejections(of client: UInt64, through sequence: UInt64) throws {
        try connection.withStatement("DELETE FROM _rejections WHERE client = ? AND sequence <= ?") { statement in
            statement.bind(1, Int64(bitPattern: client))
            statement.bind(2, Int64(bitPattern: sequence))
            try statement.run()
        }
    }
}
