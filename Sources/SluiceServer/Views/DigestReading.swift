internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The digest of a view while it is made: beside the writer, or by the writer of a database in memory.
final class DigestReading: SnapshotReading {
    enum Outcome {
        /// Not made yet.
        case none
        case digest(ObjectID)
        /// The view has none, or has too many members for one.
        case tooLarge
    }

    /// The number of rows that are in memory at a time.
    private static let pageRowCount = 500

    let view: SharedView
    /// How many times the view's content had changed when this was begun.
    let changeCount: UInt32
    private let live: LiveView
    private let limits: DatabaseLimits
    private(set) var outcome = Outcome.none

    /// - Parameter live: the view in the state that is read, which nobody else uses meanwhile.
    init(of view: SharedView, _ live: LiveView, _ limits: DatabaseLimits) {
        self.view = view
        self.live = live
        self.limits = limits
        changeCount = view.changeCount
    }

    func read(in snapshot: ServerSnapshot, within work: WorkLimit) throws { try read(in: snapshot) }

    func read(in source: any ObjectReading) throws {
        let digest = try live.holdsRoots ? Self.digest(of: live, in: source, limits) : digestOfMatches(in: source)
        outcome = digest.map { .digest($0) } ?? .tooLarge
    }

    /// The digest of a view that holds its roots.
    ///
    /// - Returns: nil if the view has no digest, if making it would need a search for members, or if there are too many
    ///   members.
    static func digest(
        of live: LiveView, in source: any ObjectReading, _ limits: DatabaseLimits
    ) throws -> ObjectID? {
        guard var digest = ViewDigest(live), let roots = try live.currentRoots(in: source),
            roots.count + live.linkedCount <= limits.digestObjectCountMax
        else { return nil }
        for object in roots {
            if let row = try source.row(object) {
                try add(row, of: object.classIndex, isRoot: true, live, in: source, to: &digest)
            }
        }
        try addLinked(of: live, in: source, to: &digest)
        return digest.digest
    }

    private func digestOfMatches(in source: any ObjectReading) throws -> ObjectID? {
        guard var digest = ViewDigest(live) else { return nil }
        var cursor: RowCursor?
        repeat {
            let page = try source.rows(
                matching: live.query, after: cursor, limit: Self.pageRowCount, byteCountMax: limits.pageByteCount)
            for row in page.rows {
                try Self.add(row, of: live.query.classIndex, isRoot: true, live, in: source, to: &digest)
            }
            guard digest.count + live.linkedCount <= limits.checkedObjectCountMax else { return nil }
            cursor = page.next
        } while cursor != nil
        try Self.addLinked(of: live, in: source, to: &digest)
        return digest.digest
    }

    private static func addLinked(
        of live: LiveView, in source: any ObjectReading, to digest: inout ViewDigest
    ) throws {
        try live.forEachLinked(in: source) { object, _ in
            if let row = try source.row(object) {
                try add(row, of: object.classIndex, isRoot: false, live, in: source, to: &digest)
            }
        }
    }

    /// Adds a member as the view's reader sees it.
    private static func add(
        _ row: Row, of classIndex: Int, isRoot: Bool, _ live: LiveView, in source: any ObjectReading,
        to digest: inout ViewDigest
    ) throws {
        digest.add(try live.shown(row, ofClass: classIndex, in: source), of: classIndex, isRoot: isRoot)
    }
}
