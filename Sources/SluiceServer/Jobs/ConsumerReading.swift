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
            databaseID: storage.databaseID, epoch: storage.epoch, query: query.checkpointHash, place: .reading([]))
        var begin = checkpoint ?? fresh
        var isReset = false
        if let checkpoint, !Self.continues(checkpoint, query, in: storage) { (begin, isReset) = (fresh, true) }
        switch begin.place {
        case .reading: self = .reading(ResultPage(query, begin, isReset: isReset, in: storage, sizes))
        case .changes(let version, let until, let key, let read):
            guard version < storage.version || !read.isEmpty else {
                var chunk = Self.chunk(
                    ofClass: try storage.classIndex(of: query), begin, until: version, in: storage)
                chunk.isLast = true
                self = .chunk(chunk)
                return
            }
            do {
                guard
                    let chunk = try Self.changes(
                        query, begin, after: version, until: until, beyond: key, read: read, in: storage, sizes)
                else {
                    self = .reading(ResultPage(query, fresh, isReset: true, in: storage, sizes))
                    return
                }
                self = .chunk(chunk)
            } catch let error as StorageError where error.code == .logTrimmed || error.isOfDamage {
                self = .reading(ResultPage(query, fresh, isReset: true, in: storage, sizes))
            }
        }
    }

    /// Whether a checkpoint is of the query and of the database's present history, and the log reaches back to it.
    private static func continues(
        _ checkpoint: Checkpoint, _ query: Query, in storage: SQLiteServerStorage
    ) -> Bool {
        guard checkpoint.databaseID == storage.databaseID, checkpoint.query == query.checkpointHash,
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
            epoch: storage.epoch, stretchCountMax: .max)
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
        chunk.items = items
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
    private let epoch: UInt64
    private let version: UInt64
    private let sizes: ChunkSizes

    init(
        _ query: Query, _ begin: Checkpoint, isReset: Bool, in storage: SQLiteServerStorage, _ sizes: ChunkSizes
    ) {
        self.query = query
        self.sizes = sizes
        self.begin = begin
        self.isReset = isReset
        epoch = storage.epoch
        version = storage.version
    }

    /// Reads them.
    ///
    /// - Parameter source: the state at which this was made.
    func read(in source: SQLiteObjectStore) throws -> ConsumerChunk {
        guard case .reading(var read) = begin.place else { preconditionFailure("changes are not read in pages") }
        let isPlain = ChangedResults.isPlain(query)
        var chunk = ConsumerChunk(
            begin, schema: source.schema, classIndex: try source.classIndex(of: query) ?? 0, version: version,
            until: version, epoch: epoch,
            stretchCountMax: isPlain ? sizes.stretchCountMax : .max)
        chunk.isReset = isReset && read.isEmpty
        let rows = try rows(beyond: read.last?.key, in: source)
        chunk.items = rows.map { .upsert($0) }
        chunk.end.epoch = epoch
        if let last = rows.last {
            read.append(through: last.key, version: version, countMax: chunk.stretchCountMax)
            chunk.end.place = .reading(read)
        } else {
            read.append(through: nil, version: version, countMax: chunk.stretchCountMax)
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

extension Query {
    /// What a checkpoint of the query has as its hash. Where its reader may not read everything, that is part of it: what
    /// the reader gains or loses otherwise than by a change of objects is told by beginning anew.
    fileprivate var checkpointHash: ObjectID {
        context.isEverything
            ? hash : ObjectID(high: hash.high ^ context.id.high, low: hash.low ^ context.id.low)
    }
}
