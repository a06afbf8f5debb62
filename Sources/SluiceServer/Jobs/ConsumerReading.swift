internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// What a consumer is to be given next, or what has to be read for it beside the database's queue.
enum ConsumerReading {
    case chunk(ConsumerChunk)
    /// Some results are to be read, in the order of their keys.
    case reading(ResultPage)

    /// Begins to find what is to be given after a checkpoint.
    ///
    /// - Parameters:
    ///   - checkpoint: nil to begin with all results.
    ///   - storage: at the present state.
    /// - Throws: ``StorageError``.
    init(_ query: Query, after checkpoint: Checkpoint?, in storage: SQLiteServerStorage, _ sizes: ChunkSizes) throws {
        let fresh = Checkpoint(
            databaseID: storage.databaseID, epoch: storage.epoch, query: query.hash, rights: query.readerRights,
            place: .reading([]))
        var begin = checkpoint ?? fresh
        var isReset = false
        if let checkpoint, !Self.continues(checkpoint, query, in: storage) { (begin, isReset) = (fresh, true) }
        let isOtherHistory = checkpoint.map { !storage.reaches($0.latestVersion, inEpoch: $0.epoch) } ?? false
        let anew = ResultPage(query, fresh, isReset: true, isOtherHistory: isOtherHistory, in: storage, sizes)
        switch begin.place {
        case .reading(let read) where Self.mustCatchUp(read, query, sizes):
            let chunk = try Self.readable { try Self.changesBehindPlace(query, begin, read, in: storage, sizes) }
            self = chunk.map { .chunk($0) } ?? .reading(anew)
        case .reading:
            self = .reading(
                ResultPage(query, begin, isReset: isReset, isOtherHistory: isOtherHistory, in: storage, sizes))
        case .changes(let version, let until, let key, let read):
            guard version < storage.version || !read.isEmpty else {
                var chunk = Self.chunk(
                    ofClass: try storage.classIndex(of: query), begin, until: version, in: storage)
                chunk.isLast = true
                self = .chunk(chunk)
                return
            }
            let chunk = try Self.readable {
                try Self.changes(
                    query, begin, after: version, until: until, beyond: key, read: read, in: storage, sizes)
            }
            self = chunk.map { .chunk($0) } ?? .reading(anew)
        }
    }

    /// - Returns: nil where the log cannot tell what has changed.
    private static func readable(_ body: () throws -> ConsumerChunk?) throws -> ConsumerChunk? {
        do { return try body() } catch let error as StorageError where error.code == .logTrimmed || error.isOfDamage {
            return nil
        }
    }

    /// Whether so many stretches were read as of different versions that what has changed in them is to be given before
    /// more is read.
    private static func mustCatchUp(_ read: [Checkpoint.Stretch], _ query: Query, _ sizes: ChunkSizes) -> Bool {
        guard read.count > 1 else { return false }
        return ChangedResults.isPlain(query) && read.count >= sizes.stretchCountMax
            || read.byteCount > sizes.stretchByteCountMax
    }

    /// Whether a checkpoint is of the query and of the database's present history, and the log reaches back to it.
    private static func continues(
        _ checkpoint: Checkpoint, _ query: Query, in storage: SQLiteServerStorage
    ) -> Bool {
        guard checkpoint.databaseID == storage.databaseID, checkpoint.query == query.hash,
            checkpoint.rights == query.readerRights,
            storage.reaches(checkpoint.latestVersion, inEpoch: checkpoint.epoch)
        else { return false }
        guard let version = checkpoint.version else { return true }
        if let retyped = storage.retypedVersion, version <= retyped { return false }
        return version >= storage.logStart
    }

    /// - Parameter classIndex: nil where there is no item whose class it would be.
    private static func chunk(
        ofClass classIndex: Int?, _ begin: Checkpoint, until: UInt64, in storage: SQLiteServerStorage
    ) -> ConsumerChunk {
        ConsumerChunk(
            begin, schema: storage.schema, classIndex: classIndex ?? 0, version: storage.version, until: until,
            epoch: storage.epoch)
    }

    /// What has changed in what was read already, as far as it was read.
    ///
    /// - Returns: nil if too much has changed.
    private static func changesBehindPlace(
        _ query: Query, _ begin: Checkpoint, _ read: [Checkpoint.Stretch], in storage: SQLiteServerStorage,
        _ sizes: ChunkSizes
    ) throws -> ConsumerChunk? {
        guard let version = begin.version, let last = read.last?.key else { return nil }
        let results = ChangedResults(query, in: storage, sizes)
        let (items, end): ([ConsumerChunk.Item], UInt64)
        if ChangedResults.isPlain(query) {
            (items, end) = try results.plainChanges(
                after: version, until: nil, beyond: nil, through: last, read: read)
        } else {
            guard let found = try results.differences(after: version, read: read) else { return nil }
            (items, end) = (found.items, storage.version)
        }
        var chunk = chunk(ofClass: try storage.classIndex(of: query), begin, until: end, in: storage)
        chunk.note(items, in: storage.epochs)
        chunk.end.epoch = storage.epoch
        var raised = read
        raised.raise(through: last, to: end)
        chunk.end.place = .reading(raised)
        return chunk
    }

    /// - Returns: nil if too much has changed.
    private static func changes(
        _ query: Query, _ begin: Checkpoint, after version: UInt64, until: UInt64?, beyond key: ObjectKey?,
        read: [Checkpoint.Stretch], in storage: SQLiteServerStorage, _ sizes: ChunkSizes
    ) throws -> ConsumerChunk? {
        let results = ChangedResults(query, in: storage, sizes)
        var begin = begin
        let (items, end): ([ConsumerChunk.Item], UInt64)
        var classIndex = try storage.classIndex(of: query)
        var rest: [Checkpoint.Stretch] = []
        if ChangedResults.isPlain(query) {
            (items, end) = try results.plainChanges(after: version, until: until, beyond: key, read: read)
            if read.contains(where: { $0.version > end }) { rest = read }
        } else {
            // What is found is as of now, so each object is given since the version as of which it was handled.
            let handled = read.handling(through: key, asOf: until, others: version)
            begin.place = .changes(after: version, until: nil, key: nil, read: handled)
            guard let found = try results.differences(after: version, read: handled) else { return nil }
            (items, end) = (found.items, storage.version)
            // An object that the query names, and that is there no more, had a class.
            classIndex = found.classIndex ?? classIndex
        }
        var chunk = chunk(ofClass: classIndex, begin, until: end, in: storage)
        chunk.note(items, in: storage.epochs)
        chunk.isLast = end >= storage.version
        chunk.end.epoch = storage.epoch
        chunk.end.place = .changes(after: end, until: nil, key: nil, read: rest)
        return chunk
    }
}

/// Some results of a query that are read in the order of their keys.
struct ResultPage: Sendable {
    let query: Query
    private let begin: Checkpoint
    private let isReset: Bool
    private let isOtherHistory: Bool
    private let epoch: UInt64
    private let epochs: [Epoch]
    private let version: UInt64
    private let sizes: ChunkSizes

    init(
        _ query: Query, _ begin: Checkpoint, isReset: Bool, isOtherHistory: Bool, in storage: SQLiteServerStorage,
        _ sizes: ChunkSizes
    ) {
        self.query = query
        self.sizes = sizes
        self.begin = begin
        self.isReset = isReset
        self.isOtherHistory = isOtherHistory
        epoch = storage.epoch
        epochs = storage.epochs
        version = storage.version
    }

    /// Reads them.
    ///
    /// - Parameter source: the state at which this was made.
    func read(in source: SQLiteObjectStore) throws -> ConsumerChunk {
        guard case .reading(var read) = begin.place else { preconditionFailure("changes are not read in pages") }
        var chunk = ConsumerChunk(
            begin, schema: source.schema, classIndex: try source.classIndex(of: query) ?? 0, version: version,
            until: version, epoch: epoch)
        chunk.isReset = isReset && read.isEmpty
        chunk.isOtherHistory = chunk.isReset && isOtherHistory
        let rows = try rows(beyond: read.last?.key, in: source)
        chunk.note(rows.map { .upsert($0) }, in: epochs)
        chunk.end.epoch = epoch
        if let last = rows.last {
            read.append(through: last.key, version: version)
            chunk.end.place = .reading(read)
        } else {
            read.append(through: nil, version: version)
            let first = read.map(\.version).min() ?? version
            chunk.end.place = .changes(after: first, until: nil, key: nil, read: first < version ? read : [])
        }
        return chunk
    }

    private func rows(beyond key: ObjectKey?, in source: SQLiteObjectStore) throws -> [Row] {
        guard query.object != nil || query.isPartial || query.hasSection else {
            return try source.rows(
                matching: query, afterKey: key, limit: sizes.rowCountMax, byteCountMax: sizes.byteCountMax)
        }
        let rows = try source.results(of: query).map(\.row).sorted { $0.key < $1.key }
        return Array(rows.drop { row in key.map { row.key <= $0 } ?? false }.prefix(sizes.rowCountMax))
    }
}

extension [Checkpoint.Stretch] {
    /// The stretches where some objects were handled once more.
    ///
    /// - Parameters:
    ///   - key: up to which key they were.
    ///   - version: as of which version; nil, as for the key, if none were.
    ///   - other: as of which version the others were handled, where no stretch says so.
    fileprivate func handling(
        through key: ObjectKey?, asOf version: UInt64?, others other: UInt64
    ) -> [Checkpoint.Stretch] {
        guard let key, let version else { return self }
        let others = isEmpty ? [.init(through: nil, version: other)] : self
        return [.init(through: key, version: version)] + others.filter { $0.key.map { $0 > key } ?? true }
    }
}

extension ConsumerChunk {
    /// Takes what is to be given, with the epochs that the versions of rows belong to.
    fileprivate mutating func note(_ found: [Item], in epochs: [Epoch]) {
        items = found
        self.epochs = epochs.covering(
            found.lazy.compactMap { item in if case .upsert(let row) = item { row.version } else { nil } })
    }
}

extension Query {
    /// What names the rights of its reader in checkpoints.
    fileprivate var readerRights: ObjectID { context.isEverything ? Checkpoint.everything : context.id }
}
