internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Makes the digests of views: for returning clients to compare, and, view by view, for running sessions.
final class ViewDigests {
    private let database: Database
    private var rounds: DigestRounds

    private var storage: any ServerStorage { database.storage }
    private var limits: DatabaseLimits { database.limits }

    init(_ database: Database) {
        self.database = database
        rounds = DigestRounds(interval: database.limits.digestInterval, roundTime: database.limits.digestRoundTime)
    }

    func insert(_ view: SharedView) { rounds.insert(view) }

    func remove(_ view: SharedView) { rounds.remove(view) }

    func removeAll() {
        rounds = DigestRounds(interval: limits.digestInterval, roundTime: limits.digestRoundTime)
    }

    /// The digest of a view's content, kept until the view changes.
    ///
    /// - Returns: nil if the view has no digest, if making it would need a search for members, or if there are too many
    ///   members.
    func digest(of view: SharedView) throws -> ObjectID? {
        if let known = view.digest { return known }
        let digest = try makeDigest(of: view.live)
        view.digest = .some(digest)
        return digest
    }

    private func makeDigest(of live: LiveView) throws -> ObjectID? {
        guard var digest = ViewDigest(live), let roots = try live.currentRoots(in: storage),
            roots.count + live.linkedCount <= limits.digestObjectCountMax
        else { return nil }
        for object in roots {
            if let row = try storage.row(object) { try add(row, of: object.classIndex, isRoot: true, live, &digest) }
        }
        try addLinked(of: live, to: &digest)
        return digest.digest
    }

    private func addLinked(of live: LiveView, to digest: inout ViewDigest) throws {
        try live.forEachLinked(in: storage) { object, _ in
            if let row = try storage.row(object) { try add(row, of: object.classIndex, isRoot: false, live, &digest) }
        }
    }

    private func add(
        _ row: Row, of classIndex: Int, isRoot: Bool, _ live: LiveView, _ digest: inout ViewDigest
    ) throws {
        digest.add(try live.shown(row, ofClass: classIndex, in: storage), of: classIndex, isRoot: isRoot)
    }

    // MARK: Running sessions

    /// Whether a digest is being made over several turns.
    var isMakingDigest: Bool { rounds.isScanning }

    /// Makes the digest of the next view that is due, or a part of it.
    ///
    /// - Returns: a view and its digest, once it is made; nil for most calls.
    func next(now: Timestamp) -> (view: SharedView, digest: ObjectID)? {
        do { return try nextDigest(now: now) } catch {
            rounds.abandon()
            database.noteFailure("a digest could not be made", error)
            return nil
        }
    }

    private func nextDigest(now: Timestamp) throws -> (SharedView, ObjectID)? {
        if let scan = rounds.takeScan() {
            // A change behind the cursor would be missing in the digest. The view is due again in a later round.
            guard scan.view.hasSubscriptions, scan.view.changeCount == scan.changeCount else { return nil }
            return try limitingWork(on: scan.view) { try go(on: scan) }
        }
        let due = rounds.next(now: now) {
            !$0.isTooLargeToCheck && $0.subscriptions.contains(where: \.isComplete)
        }
        guard let view = due else { return nil }
        return try limitingWork(on: view) {
            if view.live.holdsRoots { return try self.digest(of: view).map { (view, $0) } }
            guard let digest = ViewDigest(view.live) else {
                view.isTooLargeToCheck = true
                return nil
            }
            return try go(on: .init(view: view, changeCount: view.changeCount, cursor: nil, digest: digest))
        }
    }

    /// Makes a part of a digest within the steps of a turn. A view that needs more is not checked any more.
    private func limitingWork(
        on view: SharedView, _ body: () throws -> (SharedView, ObjectID)?
    ) throws -> (SharedView, ObjectID)? {
        do {
            return try database.limitingWork(for: nil, stepCountMax: limits.turnStepCountMax) { _ in try body() }
        } catch let error as StorageError where error.endsQueryAlone {
            view.isTooLargeToCheck = true
            return nil
        }
    }

    private func go(on scan: DigestRounds.Scan) throws -> (SharedView, ObjectID)? {
        var scan = scan
        let live = scan.view.live
        let page = try storage.rows(
            matching: live.query, after: scan.cursor, limit: DigestRounds.pageRowCount,
            byteCountMax: limits.pageByteCount)
        for row in page.rows { try add(row, of: live.query.classIndex, isRoot: true, live, &scan.digest) }
        guard scan.digest.count + live.linkedCount <= limits.checkedObjectCountMax else {
            scan.view.isTooLargeToCheck = true
            return nil
        }
        if let next = page.next {
            scan.cursor = next
            rounds.keep(scan)
            return nil
        }
        try addLinked(of: live, to: &scan.digest)
        return (scan.view, scan.digest.digest)
    }
}
