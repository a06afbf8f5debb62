internal import SluiceModel

/// Goes through the groups of a segment, from its beginning to where they are no longer as they were written.
package struct SegmentScan {
    /// What ends a segment.
    package enum Ending: Hashable, Sendable {
        case whole
        /// The last group was not written to its end: its writer was killed, or the disk was full.
        case torn
        /// Something was changed that was written; whole groups follow.
        case damaged
    }

    /// A group, and where it is.
    package struct Entry: Hashable, Sendable {
        package let group: ArchivedHead
        package let place: Int
        package let byteCount: Int
    }

    package let header: SegmentHeader
    /// The last group so far.
    package private(set) var last: ArchivedHead
    /// Where the next group begins.
    package private(set) var place = SegmentHeader.byteCount
    /// Nil before the end.
    package private(set) var ending: Ending?
    private let source: any StoredBytes
    private let checksBytes: Bool
    private var window = ScanWindow()

    /// - Parameter checksBytes: whether the bytes of the groups are compared with their chain, too.
    /// - Throws: as ``SegmentHeader/init(_:file:)``.
    package init(_ source: any StoredBytes, checksBytes: Bool) throws(StorageError) {
        guard source.byteCount >= SegmentHeader.byteCount else {
            throw StorageError(.damaged, "\(source.name) ends before its first group")
        }
        header = try SegmentHeader(source.read(at: 0, count: SegmentHeader.byteCount), file: source.name)
        last = header.base
        self.source = source
        self.checksBytes = checksBytes
    }

    /// The next group; nil at the end, which is then known.
    package mutating func next() throws(StorageError) -> Entry? {
        guard ending == nil else { return nil }
        let rest = source.byteCount - place
        guard rest > 0 else {
            ending = .whole
            return nil
        }
        guard rest >= SegmentFrame.byteCount else { return try end() }
        let bytes = try window.read(source, at: place, count: SegmentFrame.byteCount)
        guard let frame = SegmentFrame(bytes), frame.group.head.position == last.head.position + 1,
            frame.group.version >= last.version, frame.group.acceptedAt >= last.acceptedAt
        else { return try end() }
        let start = place + SegmentFrame.byteCount
        guard frame.byteCount <= source.byteCount - start else { return try end() }
        let entry = Entry(group: frame.group, place: start, byteCount: frame.byteCount)
        if checksBytes {
            let record = try source.read(at: start, count: frame.byteCount)
            guard last.head.following(record) == frame.group.head else { return try end() }
        }
        last = frame.group
        place = start + frame.byteCount
        return entry
    }

    /// Goes on to the end.
    package mutating func finish() throws(StorageError) {
        while try next() != nil {}
    }

    /// The bytes of a group.
    package func record(_ entry: Entry) throws(StorageError) -> JournalRecord {
        JournalRecord(head: entry.group.head, bytes: try source.read(at: entry.place, count: entry.byteCount))
    }

    private mutating func end() throws(StorageError) -> Entry? {
        ending = try isFollowed() ? .damaged : .torn
        return nil
    }

    /// Whether a group that was written whole is somewhere behind the place.
    private func isFollowed() throws(StorageError) -> Bool {
        let (length, mark) = (SegmentFrame.byteCount, SegmentFrame.mark)
        var start = place + 1
        while source.byteCount - start >= length {
            let piece = try source.read(at: start, count: min(1 << 20, source.byteCount - start))
            var index = 0
            while index + length <= piece.count {
                if piece[index] == mark[0], piece[index + 1] == mark[1], piece[index + 2] == mark[2],
                    let frame = SegmentFrame(Array(piece[index..<index + length])),
                    frame.group.head.position > last.head.position,
                    frame.byteCount <= source.byteCount - start - index - length
                {
                    return true
                }
                index += 1
            }
            start += piece.count - length + 1
        }
        return false
    }
}

/// The part of a source that was read last, so that many short groups are read together.
private struct ScanWindow {
    private var start = 0
    private var bytes: [UInt8] = []

    mutating func read(_ source: any StoredBytes, at place: Int, count: Int) throws(StorageError) -> [UInt8] {
        if place < start || place + count > start + bytes.count {
            start = place
            bytes = try source.read(at: place, count: min(max(count, 1 << 16), source.byteCount - place))
        }
        return Array(bytes[place - start..<place - start + count])
    }
}
