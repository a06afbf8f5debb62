internal import Glibc
package import SluiceModel

/// The segments of one database in an archive: files with the groups of its journal, one after the other. One process at a
/// time writes them.
package final class ArchivedDatabase {
    /// What has been done for a database.
    package struct Progress: Sendable {
        /// How many groups were appended.
        package var groupCount = 0
        /// Set if a line of history began: whether it goes on from a group that the archive has, or from the beginning of
        /// the database. If not, a restored database cannot get there from an earlier backup.
        package var beganLine: Bool?
        /// Why the end of a segment could not be used, if one could not.
        package var flaw: SegmentScan.Ending?
    }

    /// The last segment.
    private struct Tail {
        var header: SegmentHeader
        var byteCount: Int
        var last: ArchivedHead
        /// Whether it can be appended to.
        var isOpen: Bool
    }

    /// From which size on another segment is begun.
    package var segmentByteCountMax = 64 << 20
    /// How much is read of a log, and synced, at a time.
    private static let stepByteCountMax = 32 << 20
    private let folder: String
    private var tail: Tail?
    private var isKnown = false
    /// What a segment that is begun says of times.
    private var times = (now: Timestamp(microseconds: 0), completeUntil: Timestamp(microseconds: .min))
    /// When the database was last looked at, and had nothing that was not read. What is found now was made after that.
    private var lookedAt = Timestamp(microseconds: .min)

    /// - Parameter folder: made with the first group.
    package init(_ folder: String) { self.folder = folder }

    /// The last group that is in the archive, as far as it was read; nil for none.
    package var last: ArchivedHead? { tail?.last }

    /// Appends the groups that the log of a database has and the archive lacks, durably.
    ///
    /// - Parameters:
    ///   - path: the database's file.
    ///   - completeUntil: up to when the archive is known to be complete.
    ///   - lookedAt: when a look began that found everything; nil if there was none.
    ///   - now: the time.
    ///   - isCancelled: asked now and then whether to give up; what was appended by then stays.
    /// - Throws: ``StorageError``; what was appended by then stays.
    package func follow(
        _ path: String, completeUntil: Timestamp, lookedAt: Timestamp? = nil, now: Timestamp,
        isCancelled: () -> Bool = { false }
    ) throws -> Progress {
        var progress = Progress()
        if !isKnown { progress.flaw = try open() }
        times = (now, completeUntil)
        self.lookedAt = lookedAt ?? completeUntil
        while !isCancelled(), try step(JournalTail(path), &progress) {}
        return progress
    }

    // MARK: Appending

    /// - Returns: whether there is more.
    private func step(_ log: JournalTail, _ progress: inout Progress) throws -> Bool {
        try findPlace(log, &progress)
        guard var tail, tail.last.head != log.head.head else { return false }
        let path = self.path(tail.header.number)
        let file = try OutputFile(path, .appending)
        guard file.byteCount == tail.byteCount else {
            isKnown = false
            throw StorageError(.io, "\(path) was changed by another program; it is read again")
        }
        var (buffer, read): ([UInt8], Int) = ([], 0)
        do {
            try log.forEach(after: tail.last.head.position) { record, group in
                guard tail.last.head.following(record.bytes) == record.head else {
                    throw StorageError.damaged(path, "a log entry is not as it was written")
                }
                let group = dated(group, after: tail.last)
                buffer += SegmentFrame(group, byteCount: record.bytes.count).bytes
                buffer += record.bytes
                read += SegmentFrame.byteCount + record.bytes.count
                tail.last = group
                progress.groupCount += 1
                if buffer.count >= 1 << 20 {
                    try file.write(buffer)
                    buffer = []
                }
                return read < Self.stepByteCountMax && tail.byteCount + read < segmentByteCountMax
            }
            try file.write(buffer)
            try file.synchronize()
        } catch {
            // What is there by half would have to be recognised at the next start.
            try? file.cut(at: tail.byteCount)
            isKnown = false
            throw error
        }
        tail.byteCount += read
        self.tail = tail
        ArchiveNote(tail.header.number, tail.last.head.position).write(in: folder)
        return tail.last.head != log.head.head
    }

    /// A group with a time for those who restore. One without transactions, such as of rules and classes, has that of the
    /// one before it in the journal, and was made after the last look.
    private func dated(_ group: ArchivedHead, after last: ArchivedHead) -> ArchivedHead {
        var group = group
        if group.version == last.version { group.acceptedAt = max(group.acceptedAt, lookedAt) }
        group.acceptedAt = max(group.acceptedAt, last.acceptedAt)
        return group
    }

    /// Sees to it that the next group can be appended to the last segment.
    private func findPlace(_ log: JournalTail, _ progress: inout Progress) throws {
        if let tail, tail.header.databaseID == log.databaseID, try log.continues(tail.last.head) {
            if tail.isOpen, tail.byteCount < segmentByteCountMax || tail.last.head == log.head.head { return }
            try begin(after: tail.last, of: log.databaseID, .continuation)
            return
        }
        let ancestor = try ancestor(log)
        let base = try ancestor ?? log.first()
        let isFork = ancestor != nil && tail.map { $0.last.head != base.head } ?? false
        try begin(after: base, of: log.databaseID, isFork ? .fork : .line)
        progress.beganLine = ancestor != nil || base.head.position == 0
    }

    private func begin(after base: ArchivedHead, of databaseID: ObjectID, _ kind: SegmentHeader.Kind) throws {
        if mkdir(folder, 0o700) == 0 {
            try DatabaseFile.synchronize(DatabaseFile.folder(of: folder))
        } else if errno != EEXIST {
            throw StorageError.system(errno, doing: "making the folder", path: folder)
        }
        let number = (try Self.numbers(in: folder).last ?? 0) + 1
        let header = SegmentHeader(
            number: number, databaseID: databaseID, base: base, kind: kind, begunAt: times.now,
            completeUntil: times.completeUntil)
        let path = path(number)
        let file = try OutputFile(path, .creating)
        do {
            try file.write(header.bytes)
            try file.synchronize()
            try DatabaseFile.synchronize(folder)
        } catch {
            unlink(path)
            throw error
        }
        tail = Tail(header: header, byteCount: SegmentHeader.byteCount, last: base, isOpen: true)
    }

    /// The last group that the archive and the log of a database have in common; nil for none.
    private func ancestor(_ log: JournalTail) throws -> ArchivedHead? {
        for number in try Self.numbers(in: folder).reversed() {
            guard var scan = try? SegmentScan(StoredFile(path(number)), checksBytes: false),
                scan.header.databaseID == log.databaseID
            else { continue }
            var found =
                try log.group(at: scan.header.base.head.position)?.head == scan.header.base.head
                ? scan.header.base : nil
            while let entry = try scan.next() {
                guard let group = try log.group(at: entry.group.head.position) else { continue }
                guard group.head == entry.group.head else { break }
                found = entry.group
            }
            if let found { return found }
        }
        return nil
    }

    // MARK: Opening

    /// Finds the end of the last segment, and cuts what is torn of it.
    ///
    /// - Returns: what is wrong with the end, if something is.
    private func open() throws -> SegmentScan.Ending? {
        tail = nil
        for number in try Self.numbers(in: folder).reversed() {
            let path = path(number)
            let source = try StoredFile(path)
            let found: SegmentScan?
            do { found = try SegmentScan(source, checksBytes: true) } catch {
                guard error.code == .damaged else { throw error }
                found = nil
            }
            guard var scan = found else {
                // A segment that was only begun has nothing yet.
                guard source.byteCount <= SegmentHeader.byteCount else {
                    isKnown = true
                    return .damaged
                }
                unlink(path)
                continue
            }
            try scan.finish()
            if scan.ending == .torn {
                let file = try OutputFile(path, .appending)
                try file.cut(at: scan.place)
                try file.synchronize()
            }
            tail = Tail(
                header: scan.header, byteCount: scan.place, last: scan.last, isOpen: scan.ending != .damaged)
            isKnown = true
            ArchiveNote(scan.header.number, scan.last.head.position).write(in: folder)
            return scan.ending == .whole ? nil : scan.ending
        }
        isKnown = true
        return nil
    }

    // MARK: Files

    private func path(_ number: UInt64) -> String { Self.path(number, in: folder) }

    static func path(_ number: UInt64, in folder: String) -> String {
        let digits = String(number)
        return "\(folder)/\(String(repeating: "0", count: max(0, 10 - digits.count)) + digits)\(suffix)"
    }

    private static let suffix = ".segment"

    /// The numbers of the segments in a folder, ascending; none if there is no folder.
    static func numbers(in path: String) throws(StorageError) -> [UInt64] {
        guard let folder = opendir(path) else {
            guard errno == ENOENT else { throw .system(errno, doing: "reading the folder", path: path) }
            return []
        }
        defer { closedir(folder) }
        var numbers: [UInt64] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(suffix), let number = UInt64(name.dropLast(suffix.count)) { numbers.append(number) }
        }
        return numbers.sorted()
    }

    /// Removes the segments that no backup needs from the one with a state on.
    ///
    /// - Returns: how many were removed.
    package func prune(before state: BackupMember.DatabaseState) throws -> Int {
        let numbers = try Self.numbers(in: folder)
        for (index, number) in numbers.enumerated().reversed() {
            guard let scan = try? SegmentScan(StoredFile(path(number)), checksBytes: false),
                scan.header.databaseID == state.id, try scan.has(state.head)
            else { continue }
            for old in numbers[..<index] where unlink(path(old)) != 0 && errno != ENOENT {
                throw StorageError.system(errno, doing: "removing", path: path(old))
            }
            return index
        }
        return 0
    }
}

extension SegmentScan {
    /// Whether a group is what the segment begins after, or in it.
    func has(_ head: JournalHead) throws(StorageError) -> Bool {
        guard header.base.head.position <= head.position else { return false }
        guard header.base.head != head else { return true }
        var scan = self
        while let entry = try scan.next() {
            if entry.group.head.position >= head.position { return entry.group.head == head }
        }
        return false
    }
}
