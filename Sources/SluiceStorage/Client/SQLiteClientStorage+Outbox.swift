package import SluiceModel
internal import SluiceWire

/// A changeset of the outbox, with the positions of the operations on each object.
struct IndexedChangeset {
    let changeset: Changeset
    let positions: [ObjectRef: [Int]]

    init(_ changeset: Changeset) {
        var changeset = changeset
        changeset.expand()
        self.changeset = changeset
        let objects = changeset.objects
        positions = Dictionary(grouping: objects.indices) { objects[$0] }
    }
}

/// A changeset of the outbox.
package struct OutboxEntry: Sendable {
    package let changeset: Changeset
    /// The changeset in the form in which it is stored and travels; nil where nobody has it in memory.
    package let bytes: [UInt8]?
}

extension SQLiteClientStorage {
    /// The highest sequence that the outbox ever held.
    package var lastSequence: UInt64 { state.lastSequence }

    package var outboxCount: Int { state.outboxCount }

    /// Adds a changeset; its sequence must be ``lastSequence`` + 1.
    ///
    /// - Returns: the changeset as it is stored, which is the form in which it travels.
    @discardableResult
    package func appendToOutbox(_ changeset: Changeset) throws -> OutboxEntry {
        try requireTransaction()
        guard changeset.sequence == lastSequence + 1 else {
            throw StorageError(
                .misuse, "\(connection.name): changeset \(changeset.sequence) cannot follow changeset \(lastSequence)")
        }
        let bytes = changeset.wireBytes()
        try connection.withStatement("INSERT INTO _outbox (sequence, changeset) VALUES (?, ?)") { statement in
            statement.bind(1, Int64(changeset.sequence))
            statement.bind(2, bytes)
            try statement.run()
        }
        try appendPendingRows(of: changeset)
        state.lastSequence = changeset.sequence
        state.outboxCount += 1
        state.pendingRows.add(changeset.operationCount)
        isStateChanged = true
        resident.append(changeset)
        return OutboxEntry(changeset: changeset, bytes: bytes)
    }

    private func appendPendingRows(of changeset: Changeset) throws {
        let objects = changeset.objects
        if objects.count == 1 {
            let sql = "INSERT OR IGNORE INTO _pending (class, key, sequence) VALUES (?, ?, ?)"
            return try connection.withStatement(sql) { statement in
                statement.bind(1, objects[0])
                statement.bind(3, Int64(changeset.sequence))
                try statement.run()
            }
        }
        for start in stride(from: 0, to: objects.count, by: tables.rowsPerStatementMax) {
            let chunk = objects[start..<min(start + tables.rowsPerStatementMax, objects.count)]
            let cells = CellTable(width: 2, rowCountMax: chunk.count)
            var key = ByteWriter()
            for object in chunk {
                cells.beginRow()
                cells.bind(1, Int64(object.classIndex))
                key.bytes.removeAll(keepingCapacity: true)
                object.key.encode(into: &key)
                cells.bind(2, key.bytes)
            }
            let sql = """
                INSERT OR IGNORE INTO _pending (class, key, sequence) SELECT c0, c1, ? FROM \(CellTableModule.name)
                """
            try connection.reading(cells) {
                try connection.withStatement(sql) { statement in
                    statement.bind(1, Int64(changeset.sequence))
                    try statement.run()
                }
            }
        }
    }

    /// Calls `body` with the changesets after a sequence in ascending order, until it returns false.
    package func forEachOutboxEntry(after sequence: UInt64, _ body: (OutboxEntry) throws -> Bool) throws {
        try forEachOutboxEntry(after: sequence, isKeeping: true, body)
    }

    /// - Parameter isKeeping: whether to keep in memory what had to be decoded.
    private func forEachOutboxEntry(
        after sequence: UInt64, isKeeping: Bool, _ body: (OutboxEntry) throws -> Bool
    ) throws {
        var last = max(sequence, state.retiredSequence)
        // A server may say that it has more than there is.
        while last < lastSequence, let changeset = resident[last + 1] {
            // What stays columns has its bytes with it.
            let bytes = changeset.creations == nil ? nil : changeset.wireBytes()
            guard try body(OutboxEntry(changeset: changeset, bytes: bytes)) else { return }
            last += 1
        }
        guard last < lastSequence else { return }
        let sql = "SELECT changeset, sequence FROM _outbox WHERE sequence > ? ORDER BY sequence"
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(clamping: last))
            while try statement.step() {
                let bytes = statement.blob(0)
                let changeset = try decode(bytes, statement.int(1))
                if isKeeping { resident.append(changeset) }
                guard try body(OutboxEntry(changeset: changeset, bytes: bytes)) else { return }
            }
        }
    }

    /// Removes the changesets up to and including a sequence.
    ///
    /// - Returns: what was removed, in ascending order.
    @discardableResult
    package func removeFromOutbox(through sequence: UInt64) throws -> [Changeset] {
        try requireTransaction()
        guard sequence > state.retiredSequence, outboxCount > 0 else { return [] }
        var removed: [Changeset] = []
        try forEachOutboxEntry(after: 0, isKeeping: false) { entry in
            guard entry.changeset.sequence <= sequence else { return false }
            removed.append(entry.changeset)
            return true
        }
        guard !removed.isEmpty else { return [] }
        try connection.withStatement("DELETE FROM _outbox WHERE sequence <= ?") { statement in
            statement.bind(1, Int64(clamping: sequence))
            try statement.run()
        }
        recentChangesets.removeAll { $0.changeset.sequence <= sequence }
        resident.remove(through: sequence)
        state.outboxCount -= removed.count
        isStateChanged = true
        try removePendingRows(of: removed)
        return removed
    }

    /// Removes the rows of changesets that have left the outbox, or leaves them until there are enough of them. Nobody
    /// reads them.
    private func removePendingRows(of removed: [Changeset]) throws {
        if outboxCount == 0 {
            try connection.execute("DELETE FROM _pending")
            state.pendingRows = PendingRows(count: 0)
            return
        }
        if state.pendingRows.count == nil {
            state.pendingRows.count = try pendingRowCount()
        }
        state.pendingRows.retire(removed.reduce(0) { $0 + $1.operationCount })
        guard state.pendingRows.areMostlyRetired else { return }
        try connection.withStatement("DELETE FROM _pending WHERE sequence <= ?") { statement in
            statement.bind(1, Int64(clamping: state.retiredSequence))
            try statement.run()
        }
        state.pendingRows.removeRetired()
    }

    /// The objects that count as having pending operations although the outbox has none of them: they show values that
    /// the server rejected. They are not stored; an engine sets them when it begins.
    package var keptObjects: Set<ObjectRef> { state.kept }

    package func setKeptObjects(_ objects: Set<ObjectRef>) throws {
        try requireTransaction()
        guard objects != state.kept else { return }
        state.kept = objects
        isStateChanged = true
    }

    package var hasPendingObjects: Bool { outboxCount > 0 || !state.kept.isEmpty }

    package func hasPending(_ object: ObjectRef) throws -> Bool {
        if state.kept.contains(object) { return true }
        guard outboxCount > 0 else { return false }
        if resident.changes(object) { return true }
        if isOutboxResident { return false }
        return try state.hasPending(object, on: connection)
    }

    /// Whether no operation on an object in a range waits in the outbox, as far as that shows without looking at the
    /// objects: false says nothing.
    package func hasNothingPending(in objects: ClosedRange<ObjectRef>) throws -> Bool {
        guard outboxCount > 0 else { return true }
        let isFromFirst = resident.range.map { $0.lowerBound == state.retiredSequence + 1 } ?? true
        if isFromFirst, !isOutboxResident, !resident.isFull {
            try forEachOutboxEntry(after: 0) { _ in !resident.isFull }
        }
        return isOutboxResident && resident.isOutside(objects)
    }

    /// Whether the whole outbox is in memory.
    private var isOutboxResident: Bool { resident.range == state.retiredSequence + 1...lastSequence }

    package var pendingObjects: [ObjectRef] {
        get throws { try state.pendingObjects(of: schema, on: connection) }
    }

    /// Calls `body` with the operations on an object in the outbox after a changeset, oldest first, until it returns
    /// false.
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
            statement.bind(3, Int64(clamping: max(sequence, state.retiredSequence)))
            while try statement.step() {
                let sequence = UInt64(
                    try statement.number(0, file: connection.name, what: "the number of a pending write"))
                let changeset: Changeset
                let operations: [ObjectOperation]
                if statement.isNull(1) {
                    let indexed = try indexedChangeset(sequence)
                    changeset = indexed.changeset
                    operations = (indexed.positions[object] ?? []).map { changeset.operations[$0] }
                } else {
                    changeset = try decode(statement.blob(1), statement.int(0))
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
        let indexed = IndexedChangeset(try resident[sequence] ?? storedChangeset(sequence))
        if recentChangesets.count >= 8 { recentChangesets.removeFirst() }
        recentChangesets.append(indexed)
        return indexed
    }

    /// How many rows the table of pending operations has. Tests use it to see how it is kept small.
    package func pendingRowCount() throws -> Int { Int(try connection.integer("SELECT count(*) FROM _pending") ?? 0) }

    private func storedChangeset(_ sequence: UInt64) throws -> Changeset {
        try connection.withStatement("SELECT changeset FROM _outbox WHERE sequence = ?") { statement in
            statement.bind(1, Int64(sequence))
            guard try statement.step() else {
                throw StorageError.damaged(connection.name, "changeset \(sequence) is missing from the outbox")
            }
            return try decode(statement.blob(0), Int64(sequence))
        }
    }

    /// - Parameter number: the sequence under which the changeset is stored.
    private func decode(_ bytes: [UInt8], _ number: Int64) throws(StorageError) -> Changeset {
        decodedChangesetCount += 1
        let changeset = try StoredBlob.decode(
            Changeset.self, from: bytes, file: connection.name, what: "a changeset of the outbox")
        // What counts the outbox relies on numbers without gaps.
        guard Int64(exactly: changeset.sequence) == number, changeset.sequence <= lastSequence else {
            throw .damaged(connection.name, "changeset \(changeset.sequence) of the outbox is stored as \(number)")
        }
        guard changeset.isPossible(in: schema) else {
            throw .damaged(connection.name, "changeset \(number) of the outbox is about objects that there cannot be")
        }
        return changeset
    }

    /// Calls `body` with the changesets after a sequence in ascending order, until it returns false.
    package func forEachOutboxChangeset(after sequence: UInt64, _ body: (Changeset) throws -> Bool) throws {
        try forEachOutboxEntry(after: sequence) { try body($0.changeset) }
    }

    /// The operations on an object in the outbox, oldest first.
    package func pendingOperations(of object: ObjectRef) throws -> [PendingOperation] {
        var operations: [PendingOperation] = []
        try forEachPendingOperation(of: object, after: 0) { operation in
            operations.append(operation)
            return true
        }
        return operations
    }
}
