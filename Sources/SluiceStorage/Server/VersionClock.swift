internal import SluiceModel

/// Finds a version up to which everything was written earlier than a given time.
///
/// Merging does not read the log up to there, because an earlier write never wins over the author's. So a writer with a
/// right clock needs no history at all, however old the version that it knows.
struct VersionClock {
    /// The latest time of all versions up to one.
    private struct Mark {
        var version: UInt64
        var latest: HybridTimestamp
    }

    private static let versionsPerMark: UInt64 = 256
    private static let markCountMax = 8_192

    /// The marks in ascending order; the last one is of the last version.
    private var marks: [Mark] = []

    /// - Parameter latest: the latest time of all versions up to `version`; nil if there are none.
    init(version: UInt64, latest: HybridTimestamp?) {
        if let latest { marks = [Mark(version: version, latest: latest)] }
    }

    /// The latest time of all versions; nil if there are none.
    var latest: HybridTimestamp? { marks.last?.latest }

    /// Appends the time at which the next version was written.
    mutating func append(_ version: UInt64, _ timestamp: HybridTimestamp) {
        guard let last = marks.last else { return marks.append(Mark(version: version, latest: timestamp)) }
        let mark = Mark(version: version, latest: max(last.latest, timestamp))
        let before = marks.count > 1 ? marks[marks.count - 2].version : 0
        if marks.count > 1, version - before < Self.versionsPerMark {
            marks[marks.count - 1] = mark
        } else {
            marks.append(mark)
        }
        if marks.count > Self.markCountMax { marks.removeFirst(Self.markCountMax / 2) }
    }

    /// Removes the versions after one. Their times still count, which can make an answer lower than necessary but never
    /// wrong.
    mutating func rollBack(to version: UInt64) { self = VersionClock(version: version, latest: marks.last?.latest) }

    /// A version up to which everything was written before a time; 0 if none is known. O(log n).
    func version(before timestamp: HybridTimestamp) -> UInt64 {
        let position = marks.firstPosition { !($0.latest < timestamp) }
        return position > 0 ? marks[position - 1].version : 0
    }
}
