internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// Makes the state after a group from the state before it and the redo data, and with it the undo images and the
/// difference of the two states.
///
/// Each row is read once for the group. Changed values are also written once, at the end: a thousand transactions on
/// one object write its row once. A row that is created or deleted is written at once, since other rows may link to it.
struct GroupEffect {
    private struct Change {
        var object: ObjectRef
        /// The object before the group.
        var old: Row?
        /// The object after the transactions so far.
        var new: Row?
        /// The transactions that changed the object, by their position in the group.
        var authors: [Int]
        /// The properties of `new` that are not stored yet; nil if all are.
        var unwritten: PropertySet?
    }

    private let storage: SQLiteServerStorage
    /// Objects as they are before the group, as far as somebody has read them already.
    private let known: (ObjectRef) -> Row?
    /// Whether the group comes from elsewhere, so that it may not fit the schema.
    private let isForeign: Bool
    private var changes: [Change] = []
    private var positions = ObjectPositions()
    /// The default values of the classes in which objects were created, by class.
    private var defaults: [Int: [Value]] = [:]
    private var progress: [UInt64: UInt64] = [:]
    private var transactionCount = 0
    private(set) var undo = UndoImages()

    init(_ storage: SQLiteServerStorage, isForeign: Bool, known: @escaping (ObjectRef) -> Row? = { _ in nil }) {
        self.storage = storage
        self.isForeign = isForeign
        self.known = known
    }

    /// Carries out a transaction.
    ///
    /// - Parameter entry: the transaction's entry without changes.
    /// - Returns: the whole entry.
    mutating func carryOut(_ transaction: JournalTransaction, as entry: LogEntry) throws -> LogEntry {
        var entry = entry
        entry.changes.reserveCapacity(transaction.changes.count)
        for change in transaction.changes {
            let undone = try carryOut(change, version: entry.version)
            undo.append(undone)
            entry.changes.append(undone)
        }
        noteProgress(of: transaction.clientID, transaction.sequence)
        transactionCount += 1
        return entry
    }

    mutating func noteProgress(of client: UInt64, _ sequence: UInt64) { progress[client] = sequence }

    private mutating func carryOut(_ change: JournalChange, version: UInt64) throws -> LogChange {
        let object = change.object
        if isForeign { try check(change) }
        var undone = LogChange(change)
        switch change.kind {
        case .create:
            let position = positions[object] ?? add(object, nil)
            changes[position].authors.append(transactionCount)
            guard changes[position].new == nil else { throw mismatch(object, "creates", "exists") }
            let row = newRow(change, version: version)
            do { try storage.insert(row, ofClass: object.classIndex) } catch let error as StorageError
                where error.code == .constraint
            {
                throw mismatch(object, "creates", "exists")
            }
            changes[position].new = row
            changes[position].unwritten = nil
        case .update:
            let position = try position(of: object)
            guard let old = changes[position].new else { throw mismatch(object, "changes", "is missing") }
            undone.oldVersion = old.version
            var changed = PropertySet()
            undone.oldValues.reserveCapacity(change.values.count)
            for (property, value) in zip(change.written, change.values) {
                undone.oldValues.append(old.values[property])
                guard !old.values[property].isIdentical(to: value) else { continue }
                changed.insert(property)
                changes[position].new?.values[property] = value
            }
            changes[position].new?.version = version
            changes[position].unwritten = (changes[position].unwritten ?? []).union(changed)
        case .delete:
            let position = try position(of: object)
            guard let old = changes[position].new else { throw mismatch(object, "deletes", "is missing") }
            undone.oldVersion = old.version
            undone.oldValues = old.values
            try storage.delete(object, version: version)
            changes[position].new = nil
            changes[position].unwritten = nil
        }
        return undone
    }

    /// The object that a change creates.
    private mutating func newRow(_ change: JournalChange, version: UInt64) -> Row {
        let key = change.object.key
        let known = defaults[change.object.classIndex]
        var values = known ?? storage.schema[change.object.classIndex].defaultValues(for: key)
        if known == nil {
            defaults[change.object.classIndex] = values
        } else if let primaryKey = storage.primaryKeyIndex(ofClass: change.object.classIndex) {
            values[primaryKey] = key.value
        }
        for (property, value) in zip(change.written, change.values) { values[property] = value }
        return Row(key: key, version: version, values: values)
    }

    /// Forgets what is known of the schema, which a step has changed.
    mutating func noteSchemaChange() { defaults = [:] }

    /// The place of an object in `changes`, where it is as the transactions so far leave it.
    private mutating func position(of object: ObjectRef) throws -> Int {
        let position = try positions[object] ?? add(object, known(object) ?? storage.row(object))
        changes[position].authors.append(transactionCount)
        return position
    }

    private mutating func add(_ object: ObjectRef, _ row: Row?) -> Int {
        positions.append(object)
        changes.append(Change(object: object, old: row, new: row, authors: [], unwritten: nil))
        return changes.count - 1
    }

    /// Throws unless the change is one that the schema allows.
    private func check(_ change: JournalChange) throws {
        let count = change.kind == .delete ? 0 : change.written.count
        guard LogChange(change).isPossible(in: storage.schema), change.values.count == count else {
            throw StorageError(.journal, "a group of the journal does not fit the schema of \(storage.connection.name)")
        }
    }

    private func mismatch(_ object: ObjectRef, _ verb: String, _ state: String) -> StorageError {
        let name = storage.schema[object.classIndex].name
        return StorageError(
            .journal,
            "\(storage.connection.name): a group of the journal \(verb) an object of \(name) that \(state), so it was "
                + "made for another state")
    }

    /// Writes what had to wait until the end of the group.
    mutating func finish(at time: Timestamp) throws {
        for position in changes.indices {
            let change = changes[position]
            if let unwritten = change.unwritten, let row = change.new {
                try storage.update(row, ofClass: change.object.classIndex, changed: unwritten)
                changes[position].unwritten = nil
            }
            assert((try? storage.row(change.object)) == .some(change.new), "what is stored reads as it was written")
        }
        for (client, sequence) in progress { try storage.storeProgress(of: client, sequence, at: time) }
    }

    /// The change of each object that existed before the group or exists after it.
    func delta(version: UInt64) -> CommitDelta {
        let deltas = changes.compactMap { change -> ObjectDelta? in
            guard change.old != nil || change.new != nil else { return nil }
            return ObjectDelta(object: change.object, old: change.old, new: change.new, authors: change.authors)
        }
        return CommitDelta(changes: deltas, version: version)
    }
}
