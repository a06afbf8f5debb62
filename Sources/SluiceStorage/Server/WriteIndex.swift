internal import SluiceModel

/// Records what was done to which object in a part of the log, mostly without values;
/// ``SQLiteServerStorage/history(of:since:)`` answers from it. It is made when a write first meets a concurrent one, of the
/// part of the log after that write's base.
///
/// Every later write adds to it, and most clients ask about the last few versions, so most of it is soon of no use. It is
/// reviewed now and then, and dropped if nobody has looked back half as far as it reaches since the last time. The next
/// concurrent write makes it anew from the log, which reads no more than what was appended meanwhile. So its size follows
/// how far back the base versions of clients lie, and not the number of writes.
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

    /// After so many further records, which take about 4 MB, it is reviewed …
    private static let reviewPeriod = 32_768
    /// … and after so many bytes of the log: a record of a creation that met the object has its values.
    private static let reviewByteCount = 4 << 20
    /// With more records it is dropped, whoever asks about them.
    private static let recordCountMax = 1_000_000
    /// An object with more records since its creation keeps its trail; for other objects it is made at each request.
    private static let shortChainCount = 16

    /// The index begins after this version …
    private(set) var start: UInt64
    /// … and ends with this one.
    private(set) var end: UInt64
    private var records: [Record] = []
    private var chains: [ObjectRef: Chain] = [:]
    private var trails: [ObjectRef: ObjectTrail] = [:]
    /// How many records the log had when it was made.
    private var readCount = 0
    /// With so many records it is reviewed next.
    private var reviewedCount = reviewPeriod
    /// How many bytes the log has grown by since the last review.
    private var byteCount = 0
    /// How many versions back somebody asked at most since the last review.
    private var askedVersionCount: UInt64 = 0
    /// The work of trails that were not kept, and of the index itself.
    private var ownStepCount: UInt64 = 0

    init(after version: UInt64) {
        start = version
        end = version
    }

    var recordCount: Int { records.count }

    /// Notes that it has what the log has, and that what follows is appended by commits.
    mutating func endReading() {
        readCount = records.count
        reviewedCount = records.count + Self.reviewPeriod
    }

    /// Notes that entries of so many bytes were appended.
    mutating func note(byteCount: Int) { self.byteCount += byteCount }

    /// Looks whether it has grown beyond what is asked for. O(1), and O(log n) once in a period.
    ///
    /// - Returns: whether to drop it.
    mutating func isOutgrown() -> Bool {
        guard records.count >= reviewedCount || byteCount >= Self.reviewByteCount else { return false }
        let unaskedCount = records.firstPosition { $0.stamp.version > end - min(askedVersionCount, end) }
        let askedCount = records.count - unaskedCount
        reviewedCount = records.count + Self.reviewPeriod
        byteCount = 0
        askedVersionCount = 0
        return records.count > Self.recordCountMax
            || askedCount <= min(unaskedCount, records.count - readCount)
    }

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
        askedVersionCount = max(askedVersionCount, end - min(version, end))
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
