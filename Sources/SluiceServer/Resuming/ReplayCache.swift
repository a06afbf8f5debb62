internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews
internal import SluiceWire

/// Caches what returning clients missed, for other clients at the same version, until the next commit.
struct ReplayCache {
    private struct Key: Hashable {
        var since: UInt64
        var query: Query.Key
    }

    /// The version to which the cached changes lead.
    private var version: UInt64 = 0
    private var commits: [UInt64: CommitDelta] = [:]
    private var blocks: [Key: ViewBlock] = [:]
    private var objectCount = 0
    private let objectCountMax: Int

    /// - Parameter objectCountMax: the maximum number of changed objects, and of changes of views, that are kept.
    init(objectCountMax: Int) { self.objectCountMax = objectCountMax }

    mutating func removeAll() { self = ReplayCache(objectCountMax: objectCountMax) }

    private mutating func makeRoom(for count: Int, version: UInt64) {
        if version != self.version || objectCount + count > objectCountMax { removeAll() }
        self.version = version
        objectCount += count
    }

    /// The changes between two versions; `find` is called if they are not cached.
    mutating func commit(
        since: UInt64, to version: UInt64, _ find: () throws -> CommitDelta?
    ) rethrows -> CommitDelta? {
        if version == self.version, let known = commits[since] { return known }
        guard let commit = try find() else { return nil }
        makeRoom(for: commit.changeCount, version: version)
        commits[since] = commit
        return commit
    }

    /// The changes of a view between two versions; `make` is called if they are not cached.
    mutating func block(
        of query: Query.Key, since: UInt64, to version: UInt64, _ make: () throws -> ViewBlock
    ) rethrows -> ViewBlock {
        let key = Key(since: since, query: query)
        if version == self.version, let known = blocks[key] { return known }
        let block = try make()
        makeRoom(for: 1 + block.objects.count + block.departures.count, version: version)
        blocks[key] = block
        return block
    }
}
