internal import SluiceModel
internal import SluiceStorage

/// What the author of an upload did not know of.
extension GroupPreparation {
    /// The changes of an object that the author did not know of, as far as they may take precedence over the author's
    /// write.
    ///
    /// It reads the log only if the object was changed since the author's version, and only from the first change that
    /// is not earlier than the author's write, unless earlier ones may take precedence too. A creation, a deletion, and a
    /// change of an object that may have had more than one creation, ask for all of it.
    ///
    /// - Parameter isWhole: whether earlier ones count in any case.
    mutating func history(
        of touched: inout TouchedObject, since version: UInt64, for operation: ObjectOperation, _ author: WriteStamp,
        isWhole: Bool
    ) throws -> ObjectHistory {
        let (object, number, row) = (touched.object, touched.number, touched.merger.row)
        let asksForLineage: Bool
        switch operation.action {
        case .create: asksForLineage = true
        case .delete: asksForLineage = row != nil
        case .update:
            if row != nil, !touched.isLineaged { touched.isLineaged = try objects.isLineaged(number, of: object) }
            asksForLineage = row != nil && touched.isLineaged
        }
        if asksForLineage { return try wholeHistory(of: object, number, row: row, since: version) }
        let isWhole = isWhole || operation.yieldsToEarlierWrites
        let time = isWhole ? HybridTimestamp(microseconds: .min) : author.timestamp
        let isReset = objects.isReset(number)
        let logged =
            isReset ? ObjectHistory() : try logged(object, row: row, since: version, notBefore: time).ofProperties
        guard version <= storage.version, isReset || (row?.version ?? 0) > storage.version,
            let trail = groupHistory.trail(of: object, notBefore: time)
        else { return logged }
        return logged.followed(by: trail)
    }

    /// All changes of an object that the author did not know of.
    private mutating func wholeHistory(
        of object: ObjectRef, _ number: Int, row: Row?, since version: UInt64
    ) throws -> ObjectHistory {
        let isReset = objects.isReset(number)
        let last = try row?.version ?? (isReset ? .max : storage.lastVersion(of: object) ?? 0)
        guard version <= storage.version, last > version else { return ObjectHistory() }
        let storage = storage
        let trail = try groupHistory.wholeTrail(of: object, since: version) {
            guard version < storage.version, let last = try storage.lastVersion(of: object), last > version else {
                return nil
            }
            return try storage.history(of: object, since: max(version, storage.logStart)).trail
        }
        return ObjectHistory(trail, since: version)
    }

    private func logged(
        _ object: ObjectRef, row: Row?, since version: UInt64, notBefore time: HybridTimestamp
    ) throws -> ObjectHistory {
        let version = max(version, storage.version(before: time))
        guard version < storage.version, let last = try row?.version ?? storage.lastVersion(of: object), last > version
        else { return ObjectHistory() }
        return try storage.history(of: object, since: max(version, storage.logStart))
    }
}
