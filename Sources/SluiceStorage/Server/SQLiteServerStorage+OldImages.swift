package import SluiceModel

extension SQLiteServerStorage {
    /// Every object touched after a version, with its image at that version (nil if it did not exist), in the order in
    /// which they were first touched, and the properties that were written since.
    ///
    /// Reads the log forward: the first old value of a property is the one that the object had at the version.
    /// Properties that no change has written are as they are now.
    ///
    /// - Parameter countMax: the most objects wanted; the log is not read on once there are more.
    /// - Returns: nil if there are more objects.
    /// - Throws: ``StorageError/Code/logTrimmed`` if the log does not reach back to `version`.
    package func oldImages(
        since version: UInt64, countMax: Int = .max
    ) throws -> [(object: ObjectRef, row: Row?, written: PropertySet)]? {
        guard try !tellsOfMore(than: countMax, since: version) else { return nil }
        var order: [ObjectRef] = []
        var images: [ObjectRef: OldImage] = [:]
        try forEachLogEntry(after: version) { entry in
            for change in entry.changes {
                if images[change.object] == nil { order.append(change.object) }
                images[change.object, default: OldImage(before: change)].note(change)
            }
            return order.count <= countMax
        }
        guard order.count <= countMax else { return nil }
        return try order.map { object in
            switch images[object] {
            case .partial(let version, let known)?:
                guard var row = try row(object) else { throw try tables.table(object.classIndex).damaged() }
                row.version = version
                for (property, old) in known { old.set(property, of: &row) }
                return (object, row, PropertySet(known.keys))
            case .whole(let row)?:
                // Properties that were added later had their defaults.
                var whole = row
                let defaults = schema[object.classIndex].defaultValues(for: object.key)
                whole.values += defaults.dropFirst(row.values.count)
                var written = PropertySet(whole.values.indices)
                if let key = schema[object.classIndex].primaryKeyIndex { written.remove(key) }
                return (object, whole, written)
            default:
                return (object, nil, [])
            }
        }
    }

    /// Whether the journal tells of changes of more than so many objects since a version: without what they were before,
    /// that is read in a third of the time. A journal that is too short for so many is not read.
    private func tellsOfMore(than countMax: Int, since version: UInt64) throws -> Bool {
        guard let first = try firstPosition(after: version) else { return false }
        let sql =
            "SELECT sum(size) FROM (SELECT length(record) AS size FROM _journal WHERE position >= \(first) LIMIT ?)"
        let byteCount = try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(clamping: countMax))
            return try statement.step() ? Int(statement.int(0)) : 0
        }
        guard byteCount / JournalChange.byteCountMin > countMax else { return false }
        var objects: Set<ObjectRef> = []
        try forEachRecord(from: first) { record, _ in
            let group = try readGroup(record.bytes)
            for (index, transaction) in group.transactions.enumerated()
            where group.baseVersion + UInt64(index) + 1 > version {
                for change in transaction.changes { objects.insert(change.object) }
            }
            return objects.count <= countMax
        }
        return objects.count > countMax
    }

    /// What is known of a property as it was at the version.
    private enum OldValue {
        case value(Value, ListIdentity?)
        /// What leads back to the value from the one that the log tells of next, the last first.
        case undone([ListEdits])

        init(_ value: Value, _ list: LogChange.OldList?) {
            switch list {
            case nil: self = .value(value, nil)
            case .identity(let identity): self = .value(value, identity)
            case .undo(let edits): self = .undone([edits])
            }
        }

        /// Adds what the log tells of the property next.
        mutating func note(_ next: OldValue) {
            guard case .undone(let edits) = self else { return }
            switch next {
            case .undone(let more): self = .undone(edits + more)
            case .value(let value, let identity):
                var row = Row(key: .int(0), values: [value])
                row.setIdentity(identity, of: 0)
                set(0, of: &row)
                self = .value(row.values[0], row.identity(of: 0))
            }
        }

        /// Gives a property of an object its old value.
        ///
        /// - Parameter row: the object with the value that followed.
        func set(_ property: Int, of row: inout Row) {
            switch self {
            case .value(let value, let identity):
                row.set(value, of: property)
                row.setIdentity(identity, of: property)
            case .undone(let edits):
                for edits in edits.reversed() { row.apply(FieldOperation(property, .editList(edits))) }
            }
        }
    }

    /// What is known of an object as it was at the version, once a part of the log has been read.
    private enum OldImage {
        case missing
        /// Some properties; the others have not changed so far.
        case partial(version: UInt64, known: [Int: OldValue])
        case whole(Row)

        /// - Parameter change: the first change of the object.
        init(before change: LogChange) {
            let isMissing = change.kind == .create || change.kind == .delete && change.oldVersion == 0
            self = isMissing ? .missing : .partial(version: change.oldVersion, known: [:])
        }

        mutating func note(_ change: LogChange) {
            guard case .partial(let version, var known) = self else { return }
            // Not shared while it grows.
            self = .missing
            switch change.kind {
            case .create: self = .partial(version: version, known: known)
            case .update:
                for (property, value) in zip(change.written, change.oldValues) {
                    let old = OldValue(value, change.oldLists[property])
                    known[property]?.note(old)
                    if known[property] == nil { known[property] = old }
                }
                self = .partial(version: version, known: known)
            case .delete:
                var row = Row(key: change.object.key, version: version, values: change.oldValues)
                for property in change.oldValues.indices {
                    if case .identity(let identity) = change.oldLists[property] {
                        row.setIdentity(identity, of: property)
                    }
                }
                for (property, old) in known where property < row.values.count { old.set(property, of: &row) }
                self = .whole(row)
            }
        }
    }
}
