internal import SluiceModel
internal import SluiceStorage

/// What the transactions of a group have done to objects so far, as the log will tell once the group is applied.
struct GroupHistory {
    private var transactions: [(transaction: JournalTransaction, version: UInt64)] = []
    /// The latest time of the transactions so far.
    private var latest: HybridTimestamp?
    /// What was done to each object by the first `trailedCount` transactions. Most groups never ask.
    private var trails: [ObjectRef: ObjectTrail] = [:]
    private var trailedCount = 0

    /// Appends the next transaction. O(1).
    mutating func append(_ transaction: JournalTransaction, version: UInt64) {
        latest = max(latest ?? transaction.timestamp, transaction.timestamp)
        transactions.append((transaction, version))
    }

    /// What was done to an object; nil if that is nothing, or if all of it was done before a time.
    mutating func trail(of object: ObjectRef, notBefore time: HybridTimestamp) -> ObjectTrail? {
        guard let latest, latest >= time else { return nil }
        for (transaction, version) in transactions[trailedCount...] {
            let stamp = WriteStamp(
                timestamp: transaction.timestamp, clientID: transaction.clientID, version: version)
            for change in transaction.changes {
                let trail = trails[change.object] ?? ObjectTrail()
                trails[change.object] = trail
                trail.append(
                    change.kind, written: change.written, defaulted: change.defaulted, partial: change.partial,
                    creates: change.creates, stamp)
            }
        }
        trailedCount = transactions.count
        return trails[object]
    }
}
