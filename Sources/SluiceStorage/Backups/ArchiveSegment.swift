internal import SluiceModel

/// A segment of an archive that is read to restore from it.
struct ArchiveSegment {
    let path: String
    /// The number in the file's name.
    let number: UInt64
    /// The header, or why it cannot be read.
    let header: Result<SegmentHeader, StorageError>
    /// The last group that can be read.
    let last: ArchivedHead
    let ending: SegmentScan.Ending

    /// The segments in a folder, in their order; without one that was only begun. O(groups).
    static func all(in folder: String) throws(StorageError) -> [ArchiveSegment] {
        var segments: [ArchiveSegment] = []
        for number in try ArchivedDatabase.numbers(in: folder) {
            let path = ArchivedDatabase.path(number, in: folder)
            let source = try StoredFile(path)
            do throws(StorageError) {
                var scan = try SegmentScan(source, checksBytes: false)
                try scan.finish()
                segments.append(
                    ArchiveSegment(
                        path: path, number: number, header: .success(scan.header), last: scan.last,
                        ending: scan.ending ?? .whole))
            } catch {
                guard error.code == .damaged, source.byteCount > SegmentHeader.byteCount else {
                    guard error.code == .damaged else { throw error }
                    continue
                }
                segments.append(
                    ArchiveSegment(
                        path: path, number: number, header: .failure(error),
                        last: ArchivedHead(of: ObjectID(high: 0, low: 0)),
                        ending: .damaged))
            }
        }
        return segments
    }

    /// Calls `body` with the groups, until it returns false.
    func forEach(_ body: (ArchivedHead) throws -> Bool) throws {
        var scan = try SegmentScan(StoredFile(path), checksBytes: false)
        while let entry = try scan.next() {
            guard try body(entry.group) else { return }
        }
    }

    /// A group with which the segment begins, or that is in it; nil if it is not.
    func group(_ head: JournalHead) throws -> ArchivedHead? {
        let base = try header.get().base
        guard base.head.position < head.position else { return base.head == head ? base : nil }
        guard head.position <= last.head.position else { return nil }
        var found: ArchivedHead?
        try forEach { group in
            if group.head == head { found = group }
            return group.head.position < head.position
        }
        return found
    }

    /// Whether a group after which another segment begins is in this one.
    func leads(to head: JournalHead, _ other: SegmentHeader) throws -> Bool {
        guard case .success(let header) = header, header.databaseID == other.databaseID else { return false }
        return try group(head) != nil
    }
}
