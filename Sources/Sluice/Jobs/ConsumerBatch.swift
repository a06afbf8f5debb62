public import SluiceModel
internal import SluiceWire

/// Some of what a consumer is to handle, each object once, in the order of their keys.
///
/// Nothing of it counts as handled before ``commit(_:)``. A batch that was not committed comes again.
public struct ConsumerBatch<Element: ResultElement>: Sendable {
    /// An object to handle.
    public struct Item: Sendable {
        /// The object as it was at ``version``.
        public let value: Element
        /// The object's class and key.
        public let identity: Identity
        /// The version that last wrote the object.
        public let version: UInt64
        /// Names this state of this object for this consumer. It is the same whenever the same state comes again, so
        /// that other systems can recognise a repetition, and another one for every other state, also after a backup was
        /// put back.
        public let id: String
    }

    /// An object that is no result any more, and why.
    public struct Removal: Sendable, Hashable {
        /// The class and key of the object.
        public let identity: Identity
        /// Why the object left.
        public let reason: RemovalReason

        /// The object's key, as `delete(_:key:)` takes it.
        public var key: ObjectKey { identity.key }

        package init(identity: Identity, reason: RemovalReason) {
            self.identity = identity
            self.reason = reason
        }
    }

    /// How many objects were handled before the batch, and how many there are in all.
    public struct Progress: Sendable, Hashable {
        /// The objects that were handled before the batch since the consumer began with all results.
        public let done: Int
        /// The results there were when it began; nil while it follows changes, which have no end.
        public let known: Int?

        package init(done: Int, known: Int?) {
            self.done = done
            self.known = known
        }
    }

    /// The results that are new, or that were changed, as they are now.
    public let upserts: [Item]
    /// The objects that are no results any more. There may be some that the consumer was never given.
    public let removals: [Removal]
    /// Whether what the consumer was given before has lost its meaning, because the database has another history since,
    /// or its log no longer reaches back. All results follow, beginning with this batch, which may have none of them;
    /// remove what was derived from earlier ones in its ``commit(_:)``.
    public let isReset: Bool
    /// Whether the batch is of the first reading of all results, in contrast to what has changed since.
    public let isReading: Bool
    /// How far the consumer has come.
    public let progress: Progress
    /// The version of the database at which the batch was read.
    public let version: UInt64
    /// Where the consumer stands after the batch.
    public let checkpoint: Checkpoint

    /// Names the batch: the same whenever the same batch comes again, and another one for every other.
    package var id: String {
        JobBatchName.of(
            upserts.map(\.id) + removals.map { "-\($0.identity.objectID)/\($0.reason.rawValue)" }, after: part.basis)
    }

    /// The number of objects to handle.
    public var count: Int { upserts.count + removals.count }

    let part: ChunkPart
    private let reader: ConsumerReader

    init(_ part: ChunkPart, upserts: [Item], removals: [Removal], reader: ConsumerReader) {
        self.upserts = upserts
        self.removals = removals
        self.reader = reader
        self.part = part
        progress = Progress(done: part.done, known: part.known)
        isReset = part.isReset
        isReading = part.chunk.isReading
        version = part.chunk.version
        checkpoint = part.checkpoint
    }

    /// Stores what follows from the batch, and that it was handled, in one transaction: both or neither. When this
    /// returns, the server has it on disk.
    ///
    /// - Parameter body: as in the host's `write`. It may run several times where servers share a journal. Over a store
    ///   it writes to the store, whose objects show the writes at once, and shows the server's state again if the server
    ///   refuses the transaction.
    /// - Returns: what the last run of `body` returns.
    /// - Throws: what `body` throws; `JobError.Code.superseded` if another consumer has taken the name since, and
    ///   `batchOver` if the batch was committed before; `ServerError` or ``SyncError`` when the database cannot be written.
    ///   Nothing is stored then, unless the code is `ServerError.Code.outcomeUnknown`.
    @discardableResult
    public func commit<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result { try await reader.commit(part, body) }

    /// Stores that the batch was handled.
    ///
    /// - Throws: as ``commit(_:)``.
    public func commit() async throws { try await commit { _ in } }
}

/// A part of a chunk that a consumer is given as a batch.
struct ChunkPart: Sendable {
    let chunk: ConsumerChunk
    let range: Range<Int>
    /// Which giving out this is. Only the last one can be committed.
    let number: UInt64
    /// How many objects were handled before, and how many there are in all.
    let done: Int
    let known: Int?
    /// What the database has of how far the consumer has come. It is the same whenever the same part is given.
    let basis: [UInt8]
    /// What is known of an object that fails once the part is handled.
    var trialAfterwards: ConsumerTrial?

    var isReset: Bool { chunk.isReset(in: range) }
    /// The same part without its objects.
    var beginning: ChunkPart {
        ChunkPart(
            chunk: chunk, range: range.lowerBound..<range.lowerBound, number: number, done: done, known: known,
            basis: basis, trialAfterwards: trialAfterwards)
    }
    var first: ConsumerChunk.Item? { chunk.items[range].first }

    /// What names the objects among dead letters.
    var names: [[UInt8]] { chunk.items[range].map { DeadLetterRecord.name(of: chunk.className, $0.key) } }

    /// What tells a state of an object from others; the version is nil where the object is no result any more.
    struct State: Hashable {
        let key: ObjectKey
        let version: UInt64?
    }

    /// The state of the first object; nil if there is none.
    var firstState: State? {
        first.map { item in
            guard case .upsert(let row) = item else { return State(key: item.key, version: nil) }
            return State(key: row.key, version: row.version)
        }
    }

    var checkpoint: Checkpoint { chunk.checkpoint(before: range.upperBound) }
}

/// What names several things that a job is given together.
package enum JobBatchName {
    /// - Parameters:
    ///   - names: those of the things.
    ///   - basis: what else tells the batch from others.
    package static func of(_ names: [String], after basis: [UInt8] = []) -> String {
        var writer = ByteWriter()
        writer.data(basis)
        writer.array(names) { $0.string($1) }
        return SHA256.truncatedID(of: writer.bytes).description
    }
}

/// What names a state of an object for a job.
package enum StateName {
    /// The job's name if there is one, the class, the key, and the version with the epoch that it belongs to: after a
    /// backup was put back, the same number is given once more.
    package static func of(_ row: Row, ofClass className: String, _ epochs: [Epoch], for job: String?) -> String {
        let epoch = epochs.epoch(ofVersion: row.version)
        return (job.map { "\($0)/" } ?? "") + "\(className)/\(row.key)/\(row.version)-\(String(epoch, radix: 36))"
    }
}
