package import SluiceModel
internal import SluiceWire

/// A changeset of the outbox, with the positions of the operations on each object.
struct IndexedChangeset {
    let changeset: Changeset
    let positions: [ObjectRef: [Int]]

    init(_ changeset: Changeset) {
        self.changeset = changeset
        positions = Dictionary(grouping: changeset.operations.indices) { changeset.operations[$0].object }
    }
}

extension SQLiteClientStorage {
    package var lastSequence: UInt64 { state.lastSequence }

    package var outboxCount: Int { state.outboxCount }

    package func appendToOutbox(_ changeset: Changeset) throws {
        try requireTransaction()
        guard changeset.sequence == lastSequence + 1 else {
            throw StorageError(
                .misuse, "\(connection.name): changeset \(changeset.sequence) cannot follow changeset \(lastSequence)")
        }
        try connection.withStatement("INSERT INTO _outbox (sequence, changeset) VALUES (?, ?)") { statement in
            statement.bind(1, Int64(changeset.sequence))
            statement.bind(2, changeset.wireBytes())
            try statement.run()
        }
        let sql = "INSERT OR IGNORE INTO _pending (class, key, sequence) VALUES (?, ?, ?)"
        try connection.withStatement(sql) { statement in
            for operation in changeset.operations {
                statement.bind(1, operation.object)
                statement.bind(3, Int64(changeset.sequence))
                try statement.run()
            }
        }
        try meta.set("lastSequence", Int64(changeset.sequence))
        state.lastSequence = changeset.sequence
        state.outboxCount += 1
        isStateChanged = true
    }

    package func forEachOutboxChangeset(after sequence: UInt64, _ body: (Changeset) throws -> Bool) throws {
        let sql = "SELECT changeset FROM _outbox WHERE sequence > ? ORDER BY sequence"
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(clamping: sequence))
            while try statement.step(), try body(decode(statement.blob(0))) {}
        }
    }

    @discardableResult
    package func removeFromOutbox(through sequence: UInt64) throws -> [Changeset] {
        try requireTransaction()
        var removed: [Changeset] = []
        try forEachOutboxChangeset(after: 0) { changeset in
            guard changeset.sequence <= sequence else { return false }
            removed.append(changeset)
            return true
        }
        guard !removed.isEmpty else { return [] }
        try connection.withStatement("DELETE FROM _outbox WHERE sequence <= ?") { statement in
            statement.bind(1, Int64(clamping: sequence))
            try statement.run()
        }
        if removed.count == state.outboxCount {
            try connection.execute("DELETE FROM _pending")
        } else {
            let sql = "DELETE FROM _pending WHERE class = ? AND key = ? AND sequence = ?"
            try connection.withStatement(sql) { statement in
                for changeset in removed {
                    for operation in changeset.operations {
                        statement.bind(1, operation.object)
                        statement.bind(3, Int64(changeset.sequence))
                        try statement.run()
                    }
                }
            }
        }
        recentChangesets.removeAll { $0.changeset.sequence <= sequence }
        state.outboxCount -= removed.count
        isStateChanged = true
        return removed
    }

    package func forEachPendingOperation(
        of object: ObjectRef, after sequence: UInt64, _ body: (PendingOperation) throws -> Bool
    ) throws {
        guard outboxCount > 0 else { return }
        // Small changesets are read with their rows. Large ones, which many objects share, are decoded once, and the
        // last few are kept.
        let sql = """
            SELECT p.sequence, CASE WHEN length(o.changeset) <= 1024 THEN o.changeset END FROM _pending p \
            LEFT JOIN _outbox o ON o.sequence = p.sequence \
            WHERE p.class = ? AND p.key = ? AND p.sequence > ? ORDER BY p.sequence
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, object)
            statement.bind(3, Int64(clamping: sequence))
            while try statement.step() {
                let sequence = UInt64(clamping: statement.int(0))
                let changeset: Changeset
                let operations: [ObjectOperation]
                if statement.isNull(1) {
                    let indexed = try indexedChangeset(sequence)
                    changeset = indexed.changeset
                    operations = (indexed.positions[object] ?? []).map { changeset.operations[$0] }
                } else {
                    changeset = try decode(statement.blob(1))
                    operations = changeset.operations.filter { $0.object == object }
                }
                for operation in operations {
                    let pending = PendingOperation(
                        sequence: sequence, timestamp: changeset.timestamp, operation: operation)
                    guard try body(pending) else { return }
                }
            }
        }
    }

    private func indexedChangeset(_ sequence: UInt64) throws -> IndexedChangeset {
        if let recent = recentChangesets.first(where: { $0.changeset.sequence == sequence }) { return recent }
        let changeset = try connection.withStatement("SELECT changeset FROM _outbox WHERE sequence = ?") { statement in
            statement.bind(1, Int64(sequence))
            guard try statement.step() else {
                throw StorageError.damaged(connection.name, "changeset \(sequence) is missing from the outbox")
            }
            return try decode(statement.blob(0))
        }
        let indexed = IndexedChangeset(changeset)
        if recentChangesets.count >= 8 { recentChangesets.removeFirst() }
        recentChangesets.append(indexed)
        return indexed
    }

    private func decode(_ bytes: [UInt8]) throws(StorageError) -> Changeset {
        try StoredBlob.decode(Changeset.self, from: bytes, file: connection.name, what: "a changeset of the outbox")
    }
}
