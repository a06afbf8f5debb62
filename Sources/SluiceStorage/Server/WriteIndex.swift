internal import SluiceModel

/// Records what was done to which object in a part of the log, without values; ``JournaledStorage/history(of:since:)``
/// answers from it. It is made when a write first meets a concurrent one, and dropped when it grows too large.
struct WriteIndex {
    /// A change, and the position of the same object's change before it.
    private struct Record {
        var stamp: WriteStamp
        var kind: WriteKind
        var written: PropertySet
        var defaulted: PropertySet
        var partial: [FieldOperation]
        var creates: Bool
        var previous: Int
    }

    /// The records of one object.
    private struct Chain {
        var last: Int
        /// The number of records since the last creation or deletion.
        var count: Int
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
            let chain = chains[change.object]
            let record = Record(
                stamp: stamp, kind: change.kind, written: change.written, defaulted: change.defaulted,
                partial: change.partial, creates: change.creates, previous: chain?.last ?? -1)
            chains[change.object] = Chain(
                last: records.count, count: change.kind == .update ? (chain?.count ?? 0) + 1 : 1)
            records.append(record)
            ownStepCount += 1
            trails[change.object]?.append(
                change.kind, written: change.written, defaulted: change.defaulted, partial: change.partial,
                creates: change.creates, stamp)
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
            // What happened before a creation or deletion no longer matters, except that it was deleted.
            let (kind, previous) = (records[position].kind, records[position].previous)
            let goesOn = kind == .update || kind == .create && previous >= 0 && records[previous].kind == .delete
            position = goesOn ? previous : -1
        }
        let trail = ObjectTrail()
        for position in positions.reversed() {
            let record = records[position]
            trail.append(
                record.kind, written: record.written, defaulted: record.defaulted, partial: record.partial,
                creates: record.creates, record.stamp)
        }
        return trail
    }
}
