internal import SluiceModel
internal import SluiceViews

/// Objects that one transaction of a group has created by column.
struct CreatedRun: Sendable {
    let classIndex: Int
    fileprivate let rows: BatchRows
    let count: Int
    /// The transaction, by its position in the group.
    fileprivate let author: [Int]

    /// The changes of the objects.
    var deltas: [ObjectDelta] {
        (0..<count).map { position in
            let row = rows.row(at: position)
            return ObjectDelta(object: ObjectRef(classIndex, row.key), old: nil, new: row, authors: author)
        }
    }
}

extension JournalApplier {
    /// Creates objects by column. The maker of the group has found that nothing is known of them, and that no other
    /// transaction of the group concerns them.
    mutating func create(_ creations: Creations, version: UInt64) throws {
        let batch = RowBatch(creations, version: version)
        let rows = BatchRows(batch, of: storage.schema[creations.classIndex])
        for position in try storage.insertUnknown(batch) {
            // Another of them links to it, so it is no longer unknown.
            do {
                try storage.insert(rows.row(at: position), ofClass: creations.classIndex)
            } catch let error as StorageError where error.code == .constraint {
                throw mismatch(creations.object(at: position), "creates", "exists")
            }
        }
        runs.append(
            CreatedRun(
                classIndex: creations.classIndex, rows: rows, count: creations.count, author: [transactionCount]))
    }

    /// Whether the objects of a run read as they were written. Where a write has failed, the transaction fails when it
    /// ends.
    func isStored(_ run: CreatedRun) -> Bool {
        storage.connection.writeFailure != nil
            || (0..<run.count).allSatisfy { position in
                let row = run.rows.row(at: position)
                return (try? storage.row(ObjectRef(run.classIndex, row.key))) == .some(row)
            }
    }
}

extension RowBatch {
    /// New objects. What the creations do not set has its default, and is no less here.
    fileprivate init(_ creations: Creations, version: UInt64) {
        self.init(
            classIndex: creations.classIndex, properties: creations.properties, absent: [], keys: creations.keys,
            keyColumn: creations.keyColumn, versions: Array(repeating: version, count: creations.count),
            columns: creations.columns)
    }
}
