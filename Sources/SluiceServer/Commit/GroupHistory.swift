internal import SluiceModel
internal import SluiceStorage

/// What the transactions of a group have done to objects so far, as the log will tell once the group is applied.
struct GroupHistory {
    /// The changes of one object, and what is made of them once somebody asks.
    private struct Known {
        var changes: [(transaction: Int, change: Int)] = []
        /// What the group has done.
        var recent: ObjectTrail?
        var recentCount = 0
        /// What the log has and the group has done, for authors who knew `wholeSince` or a later version.
        var whole: ObjectTrail?
        var wholeCount = 0
        var wholeSince: UInt64 = 0
    }

    private var transactions: [(transaction: JournalTransaction, version: UInt64)] = []
    /// The latest time of the transactions so far.
    private var latest: HybridTimestamp?
    /// What the first `filedCount` transactions did to each object. Most groups never ask.
    private var known: [ObjectRef: Known] = [:]
    private var filedCount = 0

    /// Appends the next transaction. O(1).
    mutating func append(_ transaction: JournalTransaction, version: UInt64) {
        latest = max(latest ?? transaction.timestamp, transaction.timestamp)
        transactions.append((transaction, version))
    }

    /// What was done to an object; nil if that is nothing, or if all of it was done before a time.
    mutating func trail(of object: ObjectRef, notBefore time: HybridTimestamp) -> ObjectTrail? {
        guard let latest, latest >= time else { return nil }
        file()
        guard var entry = known[object] else { return nil }
        let trail = entry.recent ?? ObjectTrail()
        append(entry.changes[entry.recentCount...], to: trail)
        entry.recent = trail
        entry.recentCount = entry.changes.count
        known[object] = entry
        return trail
    }

    /// What was done to an object in the log and in the group.
    ///
    /// - Parameters:
    ///   - version: the version that an author knew.
    ///   - logged: what the log has; called when the group first comes to the object, or to an earlier version.
    mutating func wholeTrail(
        of object: ObjectRef, since version: UInt64, _ logged: () throws -> ObjectTrail?
    ) rethrows -> ObjectTrail {
        file()
        var entry = known[object] ?? Known()
        if entry.whole == nil || version < entry.wholeSince {
            entry.whole = try logged()?.copy() ?? ObjectTrail()
            entry.wholeCount = 0
            entry.wholeSince = version
        }
        let trail = entry.whole ?? ObjectTrail()
        append(entry.changes[entry.wholeCount...], to: trail)
        entry.wholeCount = entry.changes.count
        known[object] = entry
        return trail
    }

    private func append(_ changes: ArraySlice<(transaction: Int, change: Int)>, to trail: ObjectTrail) {
        for (place, change) in changes {
            let (transaction, version) = transactions[place]
            trail.append(
                transaction.changes[change].note,
                WriteStamp(timestamp: transaction.timestamp, clientID: transaction.clientID, version: version))
        }
    }

    private mutating func file() {
        for place in filedCount..<transactions.count {
            for (number, change) in transactions[place].transaction.changes.enumerated() {
                known[change.object, default: Known()].changes.append((place, number))
            }
        }
        filedCount = transactions.count
    }
}
