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

    static let recordCountMax = 300_000

    /// The stretch reaches from behind this version …
    private(set) var start: UInt64
    /// … to this one.
    private(set) var end: UInt64
    private var records: [Record] = []
    /// The last record of each object.
    private var last: [ObjectRef: Int] = [:]

    init(after version: UInt64) {
        start = version
        end = version
    }

    var isTooLarge: Bool { records.count > Self.recordCountMax }

    /// Adds the entry that follows.
    mutating func append(_ entry: LogEntry) {
        let stamp = WriteStamp(timestamp: entry.timestamp, clientID: entry.clientID, version: entry.version)
        for change in entry.changes {
            let record = Record(
                stamp: stamp, kind: change.kind, written: change.written, additions: change.additions,
                previous: last[change.object] ?? -1)
            last[change.object] = records.count
            records.append(record)
        }
        end = entry.version
    }

    /// What was done to an object after a version of the stretch.
    func history(of object: ObjectRef, since version: UInt64) -> ObjectHistory {
        var chain: [Int] = []
        var index = last[object] ?? -1
        while index >= 0, records[index].stamp.version > version {
            chain.append(index)
            index = records[index].previous
        }
        var history = ObjectHistory()
        for index in chain.reversed() { Self.apply(records[index], to: &history) }
        return history
    }

    private static func apply(_ record: Record, to history: inout ObjectHistory) {
        switch record.kind {
        case .create:
            history.created = record.stamp
            history.properties = [:]
        case .delete:
            history.deleted = record.stamp
            history.properties = [:]
        case .update: break
        }
        for property in record.written {
            var written = history.properties[property] ?? ObjectHistory.PropertyHistory()
            if record.kind == .update, let addition = record.additions.first(where: { $0.property == property }) {
                written.additions.append(.init(stamp: record.stamp, amount: addition.amount))
            } else {
                written.assigned = max(written.assigned ?? record.stamp, record.stamp)
            }
            history.properties[property] = written
        }
    }
}
