internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Finds in the log what has happened since an earlier version: for clients that return, and for views that were made
/// as of that version.
final class Replays {
    private let database: Database
    private var cache: ReplayCache

    private var storage: SQLiteServerStorage { database.storage }

    init(_ database: Database) {
        self.database = database
        cache = ReplayCache(objectCountMax: 2 * database.limits.replayObjectCountMax)
    }

    /// Forgets what was computed, since views include other properties now.
    func removeAll() { cache.removeAll() }

    /// Computes from the log what a client at `version` has missed of a view: a copy of the view is taken back to that
    /// version, and the two are compared.
    ///
    /// - Parameters:
    ///   - byteCountMax: the most bytes before compression that the answer may have, about.
    ///   - mayReplay: whether the reader may be told of what there was before all changes since the version.
    /// - Returns: nil where the log does not reach back, tells of too much or is damaged, where properties had other
    ///   types then, and where the reader may not be told.
    func replay(
        _ live: LiveView, since version: UInt64, byteCountMax: Int, where mayReplay: (CommitDelta) throws -> Bool
    ) throws -> ViewBlock? {
        do {
            return try missed(of: live, since: version, byteCountMax: byteCountMax, where: mayReplay)
        } catch let error as StorageError where error.isOfDamage {
            // The rest of the database may be readable.
            database.noteFailure("what a client missed could not be read", error)
            return nil
        }
    }

    private func missed(
        of live: LiveView, since version: UInt64, byteCountMax: Int, where mayReplay: (CommitDelta) throws -> Bool
    ) throws -> ViewBlock? {
        guard version <= storage.version, version >= storage.logStart, isOfTodaysTypes(version) else { return nil }
        guard version < storage.version else { return ViewBlock() }
        let commit = try cache.commit(since: version, to: storage.version) { try changes(since: version) }
        guard let commit = try commit.flatMap({ try passing($0, for: live) }) else { return nil }
        guard live.shape.watches(commit) else { return ViewBlock() }
        guard try mayReplay(commit) else { return nil }
        let block = try cache.block(of: live.query.key, since: version, to: storage.version) {
            try content(of: live.differences(since: commit, in: storage), since: commit, in: live)
        }
        return block.estimatedSize <= byteCountMax ? block : nil
    }

    /// Whether queries found at a version what they find in the same objects now.
    private func isOfTodaysTypes(_ version: UInt64) -> Bool { storage.retypedVersion.map { version > $0 } ?? true }

    /// All changes since a version, as one commit. A property that was changed and changed back counts as changed: the
    /// client may have what it was in between, from another subscription.
    ///
    /// - Returns: nil if the log does not reach back, or if there are too many to examine.
    private func changes(since version: UInt64) throws -> CommitDelta? {
        guard version >= storage.logStart,
            let olds = try storage.oldImages(since: version, countMax: database.limits.replayObjectCountMax)
        else { return nil }
        let deltas = try olds.compactMap { object, old, written -> ObjectDelta? in
            let new = try storage.row(object)
            guard old != nil || new != nil else { return nil }
            return ObjectDelta(object: object, old: old, new: new, authors: [], written: written)
        }
        let time = TimeStep(from: try storage.time(ofVersion: version), to: storage.now)
        return CommitDelta(changes: deltas, version: storage.version, time: time)
    }

    /// The changes since a version with the objects whose dates have passed for a view.
    ///
    /// - Returns: nil if there are too many to examine.
    private func passing(_ commit: CommitDelta, for live: LiveView) throws -> CommitDelta? {
        try commit.passing(
            live.query.form.timeEdges, in: storage, schema: storage.schema,
            countMax: database.limits.replayObjectCountMax)
    }

    /// Brings a view from an earlier version to the present.
    ///
    /// - Returns: false if the log does not reach back, or too much has changed meanwhile.
    func catchUp(_ live: LiveView, from version: UInt64) throws -> Bool {
        guard version < storage.version else { return true }
        guard let commit = try changes(since: version).flatMap({ try passing($0, for: live) }) else { return false }
        let before = OldStateSource(commit, over: storage, schema: storage.schema)
        _ = try live.apply(commit, in: storage, before: before)
        return true
    }

    /// - Parameter commit: what has changed since the version that the client is at.
    private func content(
        of differences: [ViewDifference], since commit: CommitDelta, in live: LiveView
    ) throws -> ViewBlock {
        let author = storage.acceptedAt.map { time in
            CommitAuthor(
                version: storage.version, userID: nil, clientID: Upload.serverClientID,
                kinds: Set(differences.map { kind(of: $0, in: commit) }), acceptedAt: time)
        }
        var builder = ViewBlockBuilder(
            authors: author.map { [$0] } ?? [], schema: storage.schema, limits: database.limits.data)
        for difference in differences {
            let object = difference.object
            guard let now = difference.now, let stored = try storage.row(object) else {
                if difference.before != nil {
                    builder.add(object, role: .member, reason: difference.reason)
                }
                continue
            }
            let row = try live.shown(stored, ofClass: object.classIndex, in: storage)
            let role: RowRole = now.role == .root ? .root : .linked
            if difference.before?.role == now.role {
                guard !difference.changed.isEmpty else { continue }
                try builder.add(row, of: object.classIndex, properties: difference.changed, role: .member)
            } else {
                if difference.before?.role == .root {
                    builder.add(object, role: .root, reason: difference.reason)
                }
                try builder.add(row, of: object.classIndex, properties: difference.changed, role: role)
            }
        }
        return builder.blocks[0]
    }

    /// What was done to an object that differs. An object that was there before and is in the view since was set, and so
    /// was what the view reads beside an object that has not changed.
    private func kind(of difference: ViewDifference, in commit: CommitDelta) -> OperationKind {
        guard let change = commit.change(of: difference.object) else { return .set }
        if change.new == nil { return .delete }
        return change.old == nil ? .create : .set
    }
}
