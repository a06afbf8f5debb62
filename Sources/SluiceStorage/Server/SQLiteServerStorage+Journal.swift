internal import SluiceModel
internal import SluiceQuery
package import SluiceViews

/// The table of groups: redo data as they were appended, and undo images as applying made them.
extension SQLiteServerStorage {
    static func makeJournal(on connection: SQLiteConnection) throws {
        try connection.execute(
            """
            CREATE TABLE _journal (position INTEGER PRIMARY KEY, version INTEGER NOT NULL, accepted INTEGER NOT NULL, \
            latest INTEGER, chain BLOB NOT NULL, record BLOB NOT NULL, undo BLOB NOT NULL)
            """)
    }

    /// Where the database stands in its journal, the open transaction included.
    package var head: JournalHead { log.head }

    /// Applies the next record of the journal: makes the objects, the log, sequences, rejections, epochs and schema as
    /// they are after it, from nothing but the record. Within a transaction, which must be undone after an error.
    ///
    /// - Returns: what there is to publish.
    /// - Throws: ``StorageError/Code/journal`` if the record is not the next one of this database's history, or does
    ///   not fit its state.
    package func apply(_ record: JournalRecord) throws -> AppliedGroup {
        let expected = log.head.following(record.bytes)
        guard record.head == expected else { throw mismatch(record.head) }
        return try apply(record, JournalGroup.decode(record.bytes), known: nil)
    }

    /// Applies a record that was just made of a group for the present state.
    ///
    /// - Parameter known: what the maker has found out about the group's objects.
    package func apply(
        _ record: JournalRecord, _ group: JournalGroup, known: KnownObjects
    ) throws -> AppliedGroup {
        try apply(record, group, known: .some(known))
    }

    /// - Parameter known: nil for a group that comes from elsewhere.
    private func apply(
        _ record: JournalRecord, _ group: JournalGroup, known: KnownObjects?
    ) throws -> AppliedGroup {
        try requireTransaction()
        guard pendingSteps.isEmpty else {
            throw StorageError(.misuse, "\(connection.name): a group cannot share its transaction with other steps")
        }
        guard record.head.position == log.head.position + 1 else { throw mismatch(record.head) }
        guard group.baseVersion == version else {
            throw StorageError(
                .journal,
                "\(connection.name): group \(record.head.position) follows version \(group.baseVersion), and the "
                    + "database has version \(version)")
        }
        guard group.acceptedAt >= log.acceptedAt else {
            throw StorageError(
                .journal, "\(connection.name): group \(record.head.position) was accepted before the group before it")
        }
        let schemaBefore = schema
        let timeBefore = log.time
        log.acceptedAt = group.acceptedAt
        var effect = JournalApplier(self, isForeign: known == nil, known: known)
        for step in group.steps {
            if case .transaction(let transaction) = step {
                var entry = LogEntry(transaction, version: version + 1, of: group)
                try effect.carryOut(
                    transaction, version: version + 1, writeIndex == nil ? nil : { entry.changes.append($0) })
                writeIndex?.append(entry)
                log.version += 1
                log.time = group.acceptedAt
                versionClock.append(log.version, transaction.timestamp)
            } else {
                try carryOut(step, &effect)
            }
        }
        try effect.finish(at: group.acceptedAt)
        try store(record, latest: group.transactions.map(\.timestamp).max(), undo: effect.undo.bytes)
        writeIndex?.note(byteCount: record.bytes.count)
        return AppliedGroup(
            group: group, delta: effect.delta(version: version, TimeStep(from: timeBefore, to: log.time)),
            changesSchema: schema != schemaBefore)
    }

    /// Why a record cannot be the next one.
    private func mismatch(_ found: JournalHead) -> StorageError {
        let place = "\(connection.name): group \(found.position) of a journal"
        if found.position <= log.head.position {
            return StorageError(.journal, "\(place) is applied already; the next is \(log.head.position + 1)")
        }
        if found.position > log.head.position + 1 {
            return StorageError(.journal, "\(place) came before group \(log.head.position + 1)")
        }
        return StorageError(.journal, "\(place) does not continue the history that the database has")
    }

    /// Carries out a step and makes it part of the transaction's own group, as far as all who read the journal can read it.
    func perform(_ step: JournalStep) throws {
        try requireTransaction()
        let step = step.limited(to: journal?.format ?? JournalGroup.formats.upperBound)
        var effect = JournalApplier(self, isForeign: false)
        try carryOut(step, &effect)
        try effect.finish(at: log.acceptedAt)
        pendingSteps.append(step)
    }

    private func carryOut(_ step: JournalStep, _ effect: inout JournalApplier) throws {
        switch step {
        case .transaction, .mark, .comparison: break
        case .rejection(let client, let sequence, let notice):
            try storeRejection(notice, sequence: sequence, of: client)
            effect.noteRejection(of: client, sequence)
        case .confirmation(let client, let sequence): try removeRejections(of: client, through: sequence)
        case .progress(let client, let sequence): effect.noteProgress(of: client, sequence)
        case .visit(let visit): try store(visit)
        case .nonce(let client, let nonce): try store(nonce: nonce, of: client)
        case .seen(let clients, let time): try storeSeen(clients, at: time)
        case .forgetting(let clients): for client in clients { try deleteClient(client) }
        case .epoch(let id): try storeEpoch(id)
        case .schema(let other):
            _ = try mergeSchema(other, sides: ("the database", "its journal"))
        case .removal(let classIndex, let property):
            guard schema.classes.indices.contains(classIndex),
                property.map(schema.classes[classIndex].properties.indices.contains) ?? true
            else {
                throw StorageError(
                    .journal, "\(connection.name): a class or property is to be removed that the schema does not have")
            }
            try removeFromSchema(classIndex, property)
        case .trim(let version): try dropLog(through: version)
        case .rules(let bytes, let origin): try storeRules(bytes, from: origin)
        case .job(let record): try store(record)
        case .jobRemoval(let key): try deleteJob(key)
        }
    }

    /// Appends the steps of this transaction that are not part of an applied group.
    func storePendingSteps() throws {
        guard !pendingSteps.isEmpty else { return }
        let group = JournalGroup(baseVersion: version, acceptedAt: log.acceptedAt, steps: pendingSteps)
        let record = JournalRecord(group, after: log.head)
        try (journal ?? OwnJournal(self)).appendSurely(record, after: log.head)
        pendingSteps = []
        try store(record, latest: nil, undo: [])
    }

    private func store(_ record: JournalRecord, latest: HybridTimestamp?, undo: [UInt8]) throws {
        let sql = """
            INSERT INTO _journal (position, version, accepted, latest, chain, record, undo) VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(record.head.position))
            statement.bind(2, Int64(version))
            statement.bind(3, log.acceptedAt.microseconds)
            if let latest { statement.bind(4, latest.microseconds) } else { statement.bindNull(4) }
            statement.bind(5, record.head.chain)
            statement.bind(6, record.bytes)
            statement.bind(7, undo)
            try statement.run()
        }
        log.head = record.head
        log.byteCount += record.bytes.count + undo.count
    }

    /// Calls `body` with the stored records from a position on, and their undo images, until it returns false.
    ///
    /// - Throws: ``StorageError/Code/damaged`` where the chain of hashes is broken. The hash of the first record that is
    ///   stored cannot be checked.
    func forEachRecord(from position: UInt64, _ body: (JournalRecord, _ undo: [UInt8]) throws -> Bool) throws {
        let sql = "SELECT position, chain, record, undo FROM _journal WHERE position >= ? ORDER BY position"
        try connection.withStatement(sql) { statement in
            // One more, for the hash that the first continues.
            statement.bind(1, Int64(clamping: max(position, 1) - 1))
            var last: JournalHead?
            while try statement.step() {
                let head = JournalHead(position: UInt64(clamping: statement.int(0)), chain: statement.blob(1))
                defer { last = head }
                guard head.position >= position else { continue }
                let record = JournalRecord(head: head, bytes: statement.blob(2))
                if let last { try check(record, after: last) }
                guard try body(record, statement.blob(3)) else { return }
            }
        }
    }

    /// Throws unless a stored record is the one that was stored after a head.
    private func check(_ record: JournalRecord, after head: JournalHead) throws {
        guard head.following(record.bytes) == record.head else {
            throw StorageError.damaged(connection.name, "a log entry is not as it was written")
        }
    }

    /// The stored records after a position, see ``Journal/records(after:countMax:)``.
    package func records(after position: UInt64, countMax: Int) throws -> [JournalRecord] {
        let sql = "SELECT position, chain, record FROM _journal WHERE position > ? ORDER BY position LIMIT ?"
        let records = try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(clamping: position))
            statement.bind(2, Int64(countMax))
            var records: [JournalRecord] = []
            while try statement.step() {
                let head = JournalHead(position: UInt64(clamping: statement.int(0)), chain: statement.blob(1))
                let record = JournalRecord(head: head, bytes: statement.blob(2))
                if let last = records.last { try check(record, after: last.head) }
                records.append(record)
            }
            return records
        }
        guard position >= log.head.position || records.first?.head.position == position + 1 else {
            throw StorageError(
                .logTrimmed, "\(connection.name): the journal no longer has the group after position \(position)")
        }
        return records
    }
}

/// What a group did to a database.
package struct AppliedGroup: Sendable {
    package var group: JournalGroup
    /// The difference between the states before and after the group; it names authors by the positions of their
    /// transactions in the group.
    package var delta: CommitDelta
    package var changesSchema: Bool
}
