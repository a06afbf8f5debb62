package import SluiceModel

/// What is to be restored of a database.
package enum ArchiveTarget: Hashable, Sendable {
    /// All that the archive has.
    case end
    /// The state at a time.
    case time(Timestamp)
    /// The state at a version.
    case version(UInt64)
}

/// The groups of an archive that lead to a state of a database: from a backup, or from the beginning of the database.
package struct ArchivePath {
    /// Where the groups begin.
    package enum Start: Hashable, Sendable {
        /// At the state of the backup.
        case backup
        /// At a database that has nothing.
        case beginning(of: ObjectID)
    }

    /// A part of a segment: the groups after one position, up to another.
    struct Piece {
        let segment: ArchiveSegment
        let base: ArchivedHead
        let end: ArchivedHead
    }

    package private(set) var start = Start.backup
    /// The group with which the state is reached; nil if that is the backup's own state.
    package private(set) var target: ArchivedHead?
    private(set) var pieces: [Piece] = []
    /// The version at which the last group is cut; nil if it counts as a whole.
    package private(set) var cutVersion: UInt64?

    /// The way to the backup's own state.
    package init() {}

    /// Finds the groups that lead to a state.
    ///
    /// - Parameters:
    ///   - name: the database, for messages.
    ///   - folder: its segments.
    ///   - backup: what a backup has of the database; nil if nothing.
    ///   - completeUntil: up to when the whole archive is known to be complete; nil if that is not known.
    /// - Returns: nil if there was no such database at that time.
    /// - Throws: ``StorageError`` with what would be right if the archive does not lead there.
    package init?(
        of name: String, in folder: String, from backup: BackupMember.DatabaseState?, to wanted: ArchiveTarget,
        completeUntil: Timestamp?
    ) throws {
        let segments = try ArchiveSegment.all(in: folder)
        guard !segments.isEmpty else {
            throw StorageError(
                .notFound,
                "the archive has nothing of '\(name)'; name the archive of its server, or leave '\(name)' out")
        }
        if case .version(let version) = wanted, version == backup?.version { return }
        let finder = ArchiveFinder(
            name: name, segments: segments, completeUntil: completeUntil, note: ArchiveNote(in: folder))
        try finder.checkNumbers()
        guard let (found, target) = try finder.find(wanted) else { return nil }
        if let backup, try !segments.contains(where: { try $0.header.get().databaseID == backup.id }) {
            throw StorageError(
                .foreignFile,
                "the archive's '\(name)' is another database than the backup's; name the archive of the server whose backup "
                    + "this is, or restore '\(name)' from the backup alone, without the archive")
        }
        self.target = target
        if case .version(let version) = wanted, target.version > version { cutVersion = version }
        var (index, end) = (found, target)
        while true {
            let segment = segments[index]
            let header = try segment.header.get()
            if let backup, backup.id == header.databaseID, backup.head.position <= end.head.position,
                // A group that is to be cut is no place to begin after.
                cutVersion == nil || backup.head.position < target.head.position,
                let base = try segment.group(backup.head)
            {
                pieces.insert(Piece(segment: segment, base: base, end: end), at: 0)
                return
            }
            pieces.insert(Piece(segment: segment, base: header.base, end: end), at: 0)
            guard header.base.head.position > 0 else {
                start = .beginning(of: header.databaseID)
                return
            }
            guard let older = try segments[..<index].lastIndex(where: { try $0.leads(to: header.base.head, header) })
            else { throw Self.gap(of: name, before: header.base, backup, target) }
            (index, end) = (older, header.base)
        }
    }

    private static func gap(
        of name: String, before base: ArchivedHead, _ backup: BackupMember.DatabaseState?, _ target: ArchivedHead
    ) -> StorageError {
        if let backup, backup.head.position >= target.head.position {
            return StorageError(
                .notFound,
                "the backup has group \(backup.head.position) of '\(name)', and group \(target.head.position) is wanted; "
                    + "use an earlier backup")
        }
        return StorageError(
            .logTrimmed,
            "the archive of '\(name)' has a gap: what led to group \(base.head.position), of \(base.acceptedAt), is not in "
                + "it, since the database was changed without the archive. Use a backup that was made after that, or "
                + "name an earlier --until")
    }
}

/// Finds the group with which a state is reached.
private struct ArchiveFinder {
    let name: String
    let segments: [ArchiveSegment]
    let completeUntil: Timestamp?
    /// Where the segments should end; nil if that is not known.
    let note: ArchiveNote?

    /// Checks that no segment is missing between others.
    func checkNumbers() throws(StorageError) {
        for (segment, next) in zip(segments, segments.dropFirst()) where next.number != segment.number + 1 {
            throw StorageError(
                .damaged,
                "the archive of '\(name)' lacks segment \(segment.number + 1), which it had: copy the archive again, or use "
                    + "a later backup with what is left of it")
        }
    }

    /// Checks that the last segment goes as far as it did.
    private func checkEnd() throws(StorageError) {
        guard let note, let last = segments.last else { return }
        let isWhole = last.number == note.number ? last.last.head.position >= note.position : last.number > note.number
        guard !isWhole else { return }
        throw StorageError(
            .damaged,
            "the archive of '\(name)' was cut: it had group \(note.position) in segment \(note.number), and ends with group "
                + "\(last.last.head.position), of \(last.last.acceptedAt), in segment \(last.number). Copy the archive "
                + "again, or name an --until up to that time")
    }

    func find(_ wanted: ArchiveTarget) throws -> (Int, ArchivedHead)? {
        switch wanted {
        case .end: try end()
        case .time(let time): try group(at: time)
        case .version(let version): try group(with: version)
        }
    }

    private func end() throws -> (Int, ArchivedHead) {
        let last = segments.count - 1
        guard segments[last].ending != .damaged else { throw altered(segments[last]) }
        _ = try segments[last].header.get()
        try checkEnd()
        return (last, segments[last].last)
    }

    // MARK: Times

    private func group(at time: Timestamp) throws -> (Int, ArchivedHead)? {
        for (index, segment) in segments.enumerated().reversed() {
            let header = try segment.header.get()
            guard header.base.acceptedAt <= time, try isOfTime(time, index) else { continue }
            var found: ArchivedHead?
            try segment.forEach { group in
                guard group.acceptedAt <= time else { return false }
                found = group
                return true
            }
            if found == nil, header.kind == .continuation || header.base.head.position == 0 { continue }
            let group = found ?? header.base
            try checkKnown(time, after: group, index)
            return (index, group)
        }
        let first = try segments[0].header.get().base
        guard first.head.position > 0 else { return nil }
        throw StorageError(
            .notFound,
            "the archive of '\(name)' begins after \(first.acceptedAt), and \(time) is wanted; use a backup of that time"
        )
    }

    /// Whether the line of a segment can have been the database's history at a time: not if those before it are known to
    /// be complete up to then, nor before an earlier state was put back, from whose times the line goes on.
    private func isOfTime(_ time: Timestamp, _ index: Int) throws -> Bool {
        var start = index
        while start > 0, try segments[start].header.get().kind == .continuation { start -= 1 }
        guard start > 0 else { return true }
        let line = try segments[start].header.get()
        return time > line.completeUntil && (line.kind == .line || time >= line.begunAt)
    }

    /// Checks that nothing else can have happened up to a time.
    private func checkKnown(_ time: Timestamp, after group: ArchivedHead, _ index: Int) throws {
        guard group.head == segments[index].last.head, time > group.acceptedAt else { return }
        // Segments that were only begun have nothing after it.
        guard segments[(index + 1)...].contains(where: { $0.last.head != group.head }) else {
            guard segments[index].ending != .damaged else { throw altered(segments[index]) }
            try checkEnd()
            guard let completeUntil, time <= completeUntil else {
                let until = max(completeUntil ?? group.acceptedAt, group.acceptedAt)
                throw StorageError(
                    .notFound,
                    "the archive is complete up to \(until), and \(time) is wanted; name that time or an earlier one, or "
                        + "leave --until out for all that there is")
            }
            return
        }
        let next = try segments[index + 1].header.get()
        guard next.base.head != group.head, time > next.completeUntil else { return }
        guard segments[index].ending != .damaged else { throw altered(segments[index]) }
        throw StorageError(
            .logTrimmed,
            "the archive of '\(name)' has a gap: it does not know what was changed between "
                + "\(max(next.completeUntil, group.acceptedAt)) and its next groups, and \(time) is between; name another "
                + "time")
    }

    // MARK: Versions

    private func group(with version: UInt64) throws -> (Int, ArchivedHead) {
        for (index, segment) in segments.enumerated().reversed() {
            let header = try segment.header.get()
            guard version <= segment.last.version else {
                guard segment.ending != .damaged else { throw altered(segment) }
                try checkEnd()
                throw StorageError(
                    .notFound,
                    "the archive of '\(name)' has no version \(version): there it ends with version "
                        + "\(segment.last.version), of \(segment.last.acceptedAt); name that or an earlier one")
            }
            guard version >= header.base.version else { continue }
            if version == header.base.version { return (index, header.base) }
            var found: ArchivedHead?
            try segment.forEach { group in
                found = group
                return group.version < version
            }
            if let found { return (index, found) }
        }
        throw StorageError(
            .notFound,
            "the archive of '\(name)' begins after version \(version); use a backup that was made at or before it")
    }

    private func altered(_ segment: ArchiveSegment) -> StorageError {
        StorageError(
            .damaged,
            "\(segment.path) was altered: what follows group \(segment.last.head.position), of "
                + "\(segment.last.acceptedAt), cannot be read; name an --until up to then, or use a later backup")
    }
}
