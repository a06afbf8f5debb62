/// How much a chunk takes.
package struct ChunkSizes: Sendable {
    /// How many results are read at a time.
    package var rowCountMax = 10_000
    /// How many bytes they take, about.
    package var byteCountMax = 16 << 20
    /// How many objects a stretch of the log may tell of, unless one transaction tells of more.
    package var objectCountMax = 2_000
    /// How many objects may have changed where the query is not plain (``ChangedResults``).
    package var differenceCountMax = 100_000
    /// How many stretches of the first reading are kept for a plain query (``ChangedResults``) before the changes behind
    /// its place are given.
    package var stretchCountMax = 64
    /// How many bytes they may take for any other, where to find these changes costs more.
    package var stretchByteCountMax = 128 << 10

    package init() {}
}

/// A part of what a consumer is still to be given, as of one version of the database, in the order of keys.
package struct ConsumerChunk: Sendable {
    package enum Item: Sendable {
        /// A result that is new, or that was changed.
        case upsert(Row)
        /// An object that is no result any more. It may be one that the consumer was never given.
        case removal(ObjectKey, RemovalReason)

        package var key: ObjectKey {
            switch self {
            case .upsert(let row): row.key
            case .removal(let key, _): key
            }
        }
    }

    /// Ascending by key, each key once.
    package var items: [Item] = []
    /// Whether the consumer begins anew: all that it was given before has lost its meaning.
    package var isReset = false
    /// Whether the consumer begins anew because the database has another history than the one that it knows.
    package var isOtherHistory = false
    /// Whether all results are being read, in contrast to changes.
    package var isReading: Bool { if case .reading = begin.place { !isBehindPlace } else { false } }
    /// Whether these are changes of what was read already, in the middle of the first reading.
    package var isBehindPlace: Bool {
        guard case .reading(let read) = begin.place, let last = read.last?.key, let first = items.first else {
            return false
        }
        return first.key <= last
    }
    /// The epochs that the rows' versions belong to.
    package var epochs: [Epoch] = []
    /// Whether the consumer stands where it stood when it has handled some of the items. It is not part of the chunk's bytes.
    package var keepsPlace = false
    /// Whether nothing is left to be given after this chunk.
    package var isLast = false
    package let schema: Schema
    package let classIndex: Int
    /// The version that the rows are of.
    package let version: UInt64
    /// The version up to which the chunk has the changes.
    package var until: UInt64
    /// The epoch that ``version`` belongs to.
    package let epoch: UInt64
    /// Where the chunk begins.
    package let begin: Checkpoint
    /// Where the consumer stands when it has handled everything in the chunk.
    package var end: Checkpoint

    package init(
        _ begin: Checkpoint, schema: Schema, classIndex: Int, version: UInt64, until: UInt64, epoch: UInt64
    ) {
        self.begin = begin
        self.schema = schema
        self.classIndex = classIndex
        self.version = version
        self.until = until
        self.epoch = epoch
        end = begin
    }

    /// Where the consumer stands when it has handled the items before a position.
    package func checkpoint(before index: Int) -> Checkpoint {
        guard index < items.count else { return end }
        guard index > 0, !keepsPlace else { return begin }
        var checkpoint = begin
        // What is given belongs to the present epoch, wherever the chunk began.
        checkpoint.epoch = epoch
        let key = items[index - 1].key
        switch begin.place {
        case .reading(var read):
            if isBehindPlace {
                read.raise(through: key, to: until)
            } else {
                read.append(through: key, version: version)
            }
            checkpoint.place = .reading(read)
        case .changes(let version, _, _, let read):
            checkpoint.place = .changes(after: version, until: until, key: key, read: read)
        }
        return checkpoint
    }
}
