#if PostgreSQL

internal import SluiceModel
internal import SluiceStorage

/// Brings a database into the tables of a cluster, and ends its journal there.
struct DatabaseAdoption {
    private let pool: PostgresPool
    private let row: NodeRow

    init(pool: PostgresPool, row: NodeRow) {
        self.pool = pool
        self.row = row
    }

    /// See ``JournalService/adopt(_:id:at:file:)``. What an attempt leaves that was not finished is removed by the next.
    func adopt(_ name: String, id identity: ObjectID, at head: JournalHead, file path: String) throws {
        let what = "the database '\(name)' could not be adopted"
        let identity = PostgresParameter.bytes(DatabaseRow.bytes(identity))
        let database = try asking(what) { connection throws(PostgresFailure) in
            var began = try connection.execute(AdoptionStatements.begin, .text(name), identity)
            if began.rowCount == 0 {
                began = try connection.execute(AdoptionStatements.beginAgain, .text(name), identity)
            }
            guard began.rowCount == 1 else { return nil as Int64? }
            for statement in AdoptionStatements.clear {
                try connection.execute(statement, .integer(began.integer(0)))
            }
            return began.integer(0)
        }
        guard let database else {
            throw StorageError(.exists, "the cluster has a database '\(name)' already, which is another or is served")
        }
        let position = PostgresParameter.integer(Int64(clamping: head.position))
        let snapshot = try asking(what) { connection throws(PostgresFailure) in
            try connection.execute(
                AdoptionStatements.makeSnapshot, .integer(database), position, .bytes(head.chain))
        }.integer(0)
        let (count, size) = try SnapshotParts.forEach(of: path) { number, part in
            _ = try asking(what) { connection throws(PostgresFailure) in
                try connection.execute(
                    SnapshotStatements.addPart, .integer(snapshot), .integer(Int64(number)), .bytes(part))
            }
        }
        let finished = try asking(what) { connection throws(PostgresFailure) in
            try connection.execute(
                AdoptionStatements.finish, .integer(database), .integer(snapshot), .integer(Int64(count)),
                .integer(Int64(size)), position, .bytes(head.chain), .text(row.name))
        }
        guard finished.affectedCount == 1 else {
            throw StorageError(.busy, "\(what): somebody else adopts it at the same time")
        }
    }

    /// See ``JournalService/seal(_:for:isMovedAgain:)``.
    func seal(_ name: String, for place: String, isMovedAgain: Bool) throws -> JournalHead {
        let head = try asking("the journal of '\(name)' could not be sealed") { connection throws(PostgresFailure) in
            let sealed = try connection.execute(
                AdoptionStatements.seal, .text(name), .text(place), .integer(isMovedAgain ? 1 : 0))
            guard sealed.rowCount == 1 else { return nil as JournalHead? }
            let last = try connection.execute(AdoptionStatements.head, .integer(sealed.integer(0)))
            guard last.rowCount == 1 else { return nil }
            return JournalHead(position: UInt64(clamping: last.integer(0)), chain: last.bytes(1))
        }
        if let head { return head }
        if let other = try self.place(ofSealed: name) {
            throw StorageError(.detached, "the database '\(name)' has just been detached into \(other)")
        }
        throw StorageError(.notFound, "the cluster has no database '\(name)'")
    }

    /// See ``JournalService/placeOfSealed(_:)``.
    func place(ofSealed name: String) throws -> String? {
        try asking("it could not be read whether '\(name)' was detached") { connection throws(PostgresFailure) in
            let found = try connection.execute(AdoptionStatements.place, .text(name))
            return found.rowCount == 1 && !found.isNull(0) ? found.text(0) : nil
        }
    }

    private func asking<Result>(
        _ what: String, _ body: (PostgresConnection) throws(PostgresFailure) -> Result
    ) throws(StorageError) -> Result {
        try pool.asking(what) { accepted throws(PostgresFailure) in try body(accepted.connection) }
    }
}

#endif
