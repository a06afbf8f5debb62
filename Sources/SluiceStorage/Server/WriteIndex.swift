internal import SluiceModel

/// What was done to which object in a stretch of the log, without values: what ``ServerStorage/history(of:since:)``
/// answers from. It is made when a write first meets a concurrent one, and dropped when it grows too large.
struct WriteIndex {
    /// A change, and where the same object's change before it is.
    private struct Record {
        var stamp: WriteStamp
        var kind: LogChange.Kind
        var written: PropertySet
        var additions: [LogChange.Addition]
        var previous: Int
    }

    /// The records of one object.
    private struct Chain {
        var last: Int
        /// Since the last creation or deletion.
        var count: Int
    }

    static let recordCountMax = 1_000_000
    /// Objects with more records since their creation keep their trail; of others it is made for each question.
    private static let shortChainCount = 16

    /// The stretch reaches from behind this version …
    private(set) var start: UInt64
    /// … to this one.
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

    /// How many records, stamps and stretches were looked at, for tests of how the work grows.
    var stepCount: UInt64 { trails.values.reduce(ownStepCount) { $0 + $1.stepCount } }

    /// Adds the entry that follows. O(changes).
    mutating func append(_ entry: LogEntry) {
        let stamp = WriteStamp(timestamp: entry.timestamp, clientID: entry.clientID, version: entry.version)
        for change in entry.changes {
            let chain = chains[change.object]
            let record = Record(
                stamp: stamp, kind: change.kind, written: change.written, additions: change.additions,
                previous: chain?.last ?? -1)
            chains[change.object] = Chain(
                last: records.count, count: change.kind == .update ? (chain?.count ?? 0) + 1 : 1)
            records.append(record)
            ownStepCount += 1
            trails[change.object]?.append(change.kind, written: change.written, additions: change.additions, stamp)
        }
        end = entry.version
    }

    /// What was done to an object after a version of the stretch. O(1) for an object that is written often.
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
            // What was before a creation or deletion concerns nobody any more.
            position = records[position].kind == .update ? records[position].previous : -1
        }
        let trail = ObjectTrail()
        for position in positions.reversed() {
            let record = records[position]
            trail.append(record.kind, written: record.written, additions: record.additions, record.stamp)
        }
        return trail
    }
}
