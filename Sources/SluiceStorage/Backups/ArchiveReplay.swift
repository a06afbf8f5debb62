internal import SluiceModel

/// The groups of a path through an archive, as a journal to follow.
final class ArchiveJournal: Journal {
    /// How many bytes are read at a time, above a group.
    private static let byteCountMax = 16 << 20

    let databaseID: ObjectID
    private let pieces: [ArchivePath.Piece]
    private var index = 0
    private var scan: SegmentScan?
    private var last: JournalHead?
    /// The last group that is wanted for now.
    var limit: UInt64

    init(_ path: ArchivePath, databaseID: ObjectID) {
        self.databaseID = databaseID
        pieces = path.pieces
        limit = path.target?.head.position ?? 0
    }

    var patience: AppendPatience {
        AppendPatience(time: 0, now: { Timestamp(microseconds: 0) }, wait: { _ in })
    }

    func append(
        _ record: JournalRecord, after head: JournalHead, holding duty: HeldDuty?
    ) throws -> JournalOutcome { throw StorageError(.misuse, "nothing is appended to an archive by who restores") }

    func continues(_ head: JournalHead) -> Bool { true }

    /// The next records. They are asked for one after the other, from the first on.
    func records(after position: UInt64, countMax: Int) throws -> [JournalRecord] {
        var records: [JournalRecord] = []
        var byteCount = 0
        while records.count < countMax, byteCount < Self.byteCountMax, let record = try next() {
            guard record.head.position > position else { continue }
            byteCount += record.bytes.count
            records.append(record)
        }
        return records
    }

    private func next() throws -> JournalRecord? {
        while index < pieces.count {
            let piece = pieces[index]
            var scan = try scan ?? SegmentScan(StoredFile(piece.segment.path), checksBytes: false)
            last = last ?? piece.base.head
            guard (last?.position ?? 0) < limit else { return nil }
            guard (last?.position ?? 0) < piece.end.head.position else {
                index += 1
                self.scan = nil
                continue
            }
            guard let entry = try scan.next() else { throw altered(piece, (last?.position ?? 0) + 1) }
            self.scan = scan
            guard entry.group.head.position > piece.base.head.position else { continue }
            let record = try scan.record(entry)
            guard last?.following(record.bytes) == record.head else { throw altered(piece, record.head.position) }
            last = record.head
            return record
        }
        return nil
    }

    private func altered(_ piece: ArchivePath.Piece, _ position: UInt64) -> StorageError {
        StorageError(
            .damaged,
            "\(piece.segment.path) was altered: group \(position) is not as it was written; name an --until before it, or "
                + "use a later backup")
    }
}

extension ArchivePath {
    /// Applies the groups to a database that nobody uses.
    ///
    /// - Parameter file: the database with the state where the path starts; made if that is its beginning.
    /// - Returns: what the database has then.
    /// - Throws: ``StorageError``; the file is of no use then.
    package func apply(
        to file: String, of name: String, isCancelled: () -> Bool = { false }
    ) throws -> BackupMember.DatabaseState {
        let databaseID: ObjectID
        switch start {
        case .beginning(let id): databaseID = id
        case .backup: databaseID = try ReplicaFile.state(of: file).id
        }
        let storage = try SQLiteServerStorage.open(.file(file), databaseID: databaseID, durability: .process)
        defer { storage.close() }
        if let damage = storage.damage ?? storage.obstacle { throw damage }
        if let target {
            let journal = ArchiveJournal(self, databaseID: databaseID)
            let end = target.head.position - (cutVersion == nil ? 0 : 1)
            journal.limit = end
            try ReplicaFile.follow(journal, storage, to: end, isCancelled: isCancelled)
            if let cutVersion {
                journal.limit = target.head.position
                guard let record = try journal.records(after: end, countMax: 1).first else {
                    throw StorageError(.journal, "the archive of '\(name)' ends with group \(end)")
                }
                let group = try JournalGroup.decode(record.bytes).cut(after: cutVersion)
                _ = try storage.transaction { try storage.apply(JournalRecord(group, after: storage.head)) }
            }
            if cutVersion == nil, storage.head != target.head {
                throw StorageError(.journal, "the archive of '\(name)' does not lead to group \(target.head.position)")
            }
        }
        return BackupMember.DatabaseState(
            name: name, id: storage.databaseID, head: storage.head, version: storage.version)
    }
}

extension JournalGroup {
    /// The group up to the transaction that makes a version.
    fileprivate func cut(after version: UInt64) -> JournalGroup {
        var group = self
        var last = baseVersion
        group.steps = Array(
            steps.prefix { step in
                guard case .transaction = step else { return last < version }
                last += 1
                return last <= version
            })
        return group
    }
}
