internal import SluiceModel
internal import SluiceStorage

/// An upload that creates objects of one class and does nothing else, accepted by column.
struct CreationUpload {
    let classIndex: Int
    let keys: ClosedRange<ObjectKey>
    /// Where it is among the steps of the group.
    let step: Int
    /// The version that it makes.
    let version: UInt64
}

/// What such uploads create stays in columns, from the frame in which it came to the tables and the journal.
///
/// Merging changes nothing of creations if nothing is known of their objects, neither in the database nor in the group.
/// Where the keys ascend, that is found out for all of them at once.
extension GroupPreparation {
    /// Accepts an upload by column.
    ///
    /// - Returns: false, without an effect, if its operations have to be looked at one by one.
    mutating func accept(_ creations: Creations, of upload: Upload) throws -> Bool {
        guard objects.isEmpty, writeGuard == nil, policies == nil, check.accepts(creations),
            transactionLimits.surelyAllow(creations, of: schema[creations.classIndex]),
            let keys = creations.ascendingKeys, !runs.contains(where: { $0.meets(keys, creations.classIndex) }),
            try !storage.knowsAny(in: keys, ofClass: creations.classIndex)
        else { return false }
        version += 1
        runs.append(
            CreationUpload(classIndex: creations.classIndex, keys: keys, step: steps.count, version: version))
        var transaction = transaction(of: upload, kinds: [.create])
        transaction.creations = creations
        append(transaction)
        return true
    }

    /// Makes single changes of what was accepted by column, since an upload follows that may concern the same objects.
    mutating func expandRuns() {
        for run in runs {
            guard case .transaction(var transaction) = steps[run.step] else { continue }
            transaction.changes = transaction.changes
            steps[run.step] = .transaction(transaction)
            for change in transaction.changes {
                let row = change.newRow(of: schema[run.classIndex], version: run.version)
                let number = objects.number(of: change.object)
                objects.set(row, of: number, isReset: true)
                known.numbers.append(number)
                known.created.append(row)
            }
        }
        runs = []
    }
}

extension CreationUpload {
    /// Whether it may create objects of a class with keys in a range.
    fileprivate func meets(_ other: ClosedRange<ObjectKey>, _ otherClass: Int) -> Bool {
        classIndex == otherClass && keys.overlaps(other)
    }
}
