internal import Glibc
internal import SluiceModel
internal import SluiceWire

/// What a copy of a client's store is for.
package enum CopyPurpose: Sendable {
    /// A store of its own, which never had a server.
    case alone
    /// A store that goes on from here with the server, as a new client.
    case synced
    /// The store as it is.
    case backup
}

extension SQLiteClientStorage {
    /// Copies the store to a new file, which is whole or does not exist. Between transactions only.
    ///
    /// - Throws: ``StorageError/Code/exists`` if there is a file.
    package func copy(toFile path: String, for purpose: CopyPurpose) throws {
        guard !connection.isInTransaction else {
            throw StorageError(.misuse, "\(connection.name): a transaction is open; commit it before copying")
        }
        switch purpose {
        case .backup: try DatabaseFile.copy(connection, to: path)
        case .alone: try DatabaseFile.copy(connection, to: path, finish: leaveServer)
        case .synced: try DatabaseFile.copy(connection, to: path, finish: leaveIdentity)
        }
    }

    /// Removes everything that has to do with a server, but for the objects.
    private func leaveServer(_ copy: SQLiteConnection) throws {
        for table in ["_outbox", "_pending", "_base", "_subscriptions", "_members", "_cached"] {
            try copy.execute("DELETE FROM \(table)")
        }
        // The numbers count what this store has uploaded.
        try copy.execute("DELETE FROM _meta WHERE name IN ('sync', 'lastSequence') OR name LIKE 'engine.%'")
        let layout = TableLayout()
        for declared in schema.classes {
            // Versions are those of the server that sent the objects.
            try copy.execute("UPDATE \(layout.table(declared.name)) SET \(TableLayout.version) = 0")
        }
    }

    /// Removes what makes the server take the copy for this store, and what was written here and refused.
    private func leaveIdentity(_ copy: SQLiteConnection) throws {
        try copy.execute("DELETE FROM _meta WHERE name LIKE 'engine.%' AND name <> 'engine.context'")
        guard var known = syncState else { return }
        // Nobody has this number. The server gives each copy its own when it connects.
        known.clientID = 0
        known.nonce = ObjectID(high: 0, low: 0)
        try MetaTable(copy).set("sync", known.wireBytes())
    }

    /// The store's file; nil for a store in memory.
    package var path: String? { file == nil ? nil : connection.path }

    /// What the store takes on disk, or in memory, in bytes.
    package var byteCount: Int {
        get throws {
            guard let path else {
                let pages = try connection.integer("PRAGMA page_count") ?? 0
                return Int(try pages * (connection.integer("PRAGMA page_size") ?? 0))
            }
            let files = DatabasePath(file: path)
            return [files.file, files.writeAheadLog, files.sharedMemory].reduce(0) { sum, name in
                var status = stat()
                return stat(name, &status) == 0 ? sum + Int(status.st_size) : sum
            }
        }
    }
}
