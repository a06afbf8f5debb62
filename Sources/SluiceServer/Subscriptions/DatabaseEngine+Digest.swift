package import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
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
        guard var digest = ViewDigest(live), let roots = live.currentRoots,
            roots.count + live.linkedCount <= limits.digestObjectCountMax
        else { return nil }
        for object in roots {
            if let row = try storage.row(object) { digest.add(row, of: object.classIndex, isRoot: true) }
        }
        try addLinked(of: live, to: &digest)
        return digest.digest
    }

    private func addLinked(of live: LiveView, to digest: inout ViewDigest) throws {
        try live.forEachLinked(in: storage) { object, _ in
            if let row = try storage.row(object) { digest.add(row, of: object.classIndex, isRoot: false) }
        }
    }

    // MARK: Running sessions

    /// Whether a digest is being made over several turns.
    var isMakingDigest: Bool { rounds.isScanning }

    /// Sends the digest of the next view that is due to all sessions for which it is complete, or makes a part of such
    /// a digest.
    ///
    /// - Returns: the messages to send; none for most calls.
    package func checkSessions(now: Timestamp) -> [DatabaseAction] {
        do {
            if let (view, digest) = try nextDigest(now: now) { send(digest, of: view) }
        } catch {
            rounds.abandon()
            noteFailure("a digest could not be made", error)
        }
        return takeActions()
    }

    private func send(_ digest: ObjectID, of view: SharedView) {
        for subscription in view.subscriptions where subscription.isComplete {
            let session = subscription.session.id
            let check = ServerMessage.DigestCheck(
                session: session.session, subscription: subscription.id, version: storage.version, digest: digest)
            send([.digest(check)], to: session)
            statistics.sentDigestCount += 1
        }
    }

    private func nextDigest(now: Timestamp) throws -> (SharedView, ObjectID)? {
        if let scan = rounds.takeScan() {
            // A change behind the cursor would be missing in the digest. The view is due again in a later round.
            guard let view = views[scan.view], view.changeCount == scan.changeCount else { return nil }
            return try limitingWork(on: view) { try go(on: scan, view) }
        }
        let hash = rounds.next(now: now) {
            views.values.filter { !$0.isTooLargeToCheck && $0.subscriptions.contains(where: \.isComplete) }
                .map(\.query.hash).sorted()
        }
        guard let hash, let view = views[hash] else { return nil }
        return try limitingWork(on: view) {
            if view.live.currentRoots != nil { return try self.digest(of: view).map { (view, $0) } }
            guard let digest = ViewDigest(view.live) else {
                view.isTooLargeToCheck = true
                return nil
            }
            let scan = DigestRounds.Scan(view: hash, changeCount: view.changeCount, cursor: nil, digest: digest)
            return try go(on: scan, view)
        }
    }

    /// Makes a part of a digest within the steps of a turn. A view that needs more is not checked any more.
    private func limitingWork(
        on view: SharedView, _ body: () throws -> (SharedView, ObjectID)?
    ) throws -> (SharedView, ObjectID)? {
        do {
            return try limitingWork(for: nil, stepCountMax: limits.turnStepCountMax) { _ in try body() }
        } catch let error as StorageError where error.endsQueryAlone {
            view.isTooLargeToCheck = true
            return nil
        }
    }

    private func go(on scan: DigestRounds.Scan, _ view: SharedView) throws -> (SharedView, ObjectID)? {
        var scan = scan
        let live = view.live
        let page = try storage.rows(
            matching: live.query, after: scan.cursor, limit: DigestRounds.pageRowCount,
            byteCountMax: limits.pageByteCount)
        for row in page.rows { scan.digest.add(row, of: live.query.classIndex, isRoot: true) }
        guard scan.digest.count + live.linkedCount <= limits.checkedObjectCountMax else {
            view.isTooLargeToCheck = true
            return nil
        }
        if let next = page.next {
            scan.cursor = next
            rounds.keep(scan)
            return nil
        }
        try addLinked(of: live, to: &scan.digest)
        return (view, scan.digest.digest)
    }
}
