internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

extension DatabaseEngine {
    /// The digest of what a view holds, kept until the view changes.
    ///
    /// - Returns: nil where it has none, or where it would take a search for its members, or more than a few.
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
        try live.forEachLinked(in: storage) { object, _ in
            if let row = try storage.row(object) { digest.add(row, of: object.classIndex, isRoot: false) }
        }
        return digest.digest
    }
}
