internal import SluiceModel

/// Records what was done to which object in a part of the log, without values; ``SQLiteServerStorage/history(of:since:)``
/// answers from it. It is made when a write first meets a concurrent one, and dropped when it grows too large.
struct WriteIndex {
    /// A change, and the position of the same object's change before it.
    private struct Record {
        var stamp: WriteStamp
        var note: WriteNote
        var previous: Int

        /// Whether what was done to the object before matters no more, except that it was deleted.
        var isFirst: Bool {
            switch note.kind {
            case .create, .delete: true
            case .update: note.lineage?.rest.map { !$0.keepsFormer } ?? false
            }
        }
    }

    /// The records of one object.
    private struct Chain {
        var last: Int
        /// The number of records since the last creation or deletion.
        var count: Int
        /// All deletions of the object.
        var deletions = StampStack()
    }

    static let recordCountMax = 1_000_000
    /// An object with more records since its creation keeps its trail; for other objects it is made at each request.
    private static let shortChainCount = 16

    /// The index begins after this version …
    private(set) var start: UInt64
    /// … and ends with this one.
    private(set) var end: UInt64
    private var records: [Record] = []
    private var chains: [ObjectRef: Chain] = [:]
    private var trails: [ObjectRef: ObjectTrail] = [:]
    /// The work of trails that were not kept, and of the index itself.
    private var ownStepCount: UInt64 = 0

    init(after version: UInt64) {
        start = version
        end = version
    }

    var isTooLarge: Bool { records.count > Self.recordCountMax }

    /// How many records, stamps and stretches were read, for tests of how the work grows.
    var stepCount: UInt64 { trails.values.reduce(ownStepCount) { $0 + $1.stepCount } }

    /// Appends the next entry. O(changes).
    mutating func append(_ entry: LogEntry) {
        let stamp = WriteStamp(timestamp: entry.timestamp, clientID: entry.clientID, version: entry.version)
        for change in entry.changes {
            var chain = chains[change.object] ?? Chain(last: -1, count: 0)
            let record = Record(stamp: stamp, note: change.note, previous: chain.last)
            chain.last = records.count
            chain.count = record.isFirst ? 1 : chain.count + 1
            if change.note.deletes || change.kind == .delete { chain.deletions.push(stamp) }
            chains[change.object] = chain
            records.append(record)
            ownStepCount += 1
            trails[change.object]?.append(change.note, stamp)
        }
        end = entry.version
    }

    /// What was done to an object after a version that the index covers. O(1) for an object that is written often.
    mutating func history(of object: ObjectRef, since version: UInt64) -> ObjectHistory {
        ownStepCount += 1
        if let trail = trails[object] { return ObjectHistory(trail, since: version) }
        guard let chain = chains[object] else { return ObjectHistory() }
        let trail = trail(of: chain)
        if chain.count > Self.shortChainCount { trails[object] = trail } else { ownStepCount += trail.stepCount }
        return ObjectHistory(trail, since: version)
    }

    private mutating func trail(of chain: Chain) -> ObjectTrail {
        var positions: [Int] = []
        var position = chain.last
        while position >= 0 {
            ownStepCount += 1
            positions.append(position)
            position = records[position].isFirst ? -1 : records[position].previous
        }
        let trail = ObjectTrail()
        for position in positions.reversed() { trail.append(records[position].note, records[position].stamp) }
        trail.setDeletions(chain.deletions)
        return trail
    }
}
