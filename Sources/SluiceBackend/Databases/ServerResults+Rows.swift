public import Sluice
public import SluiceModel
internal import SluiceServer
internal import SluiceStorage

extension ServerResults {
    /// The results one by one, read in pages: at no time are more than a page in memory, however many there are.
    ///
    /// Each object comes once. Results without a sort and a limit come in the order of their keys, each page as of the
    /// time at which it is read, so that nobody waits for a reader that is slow; ``Batches`` tells what has changed
    /// meanwhile. Sorted or limited ones are found when the iteration begins: their keys take memory, and one that is no
    /// result any more when its page is read is left out.
    ///
    /// - Parameter page: how many are read at a time.
    public func rows(page: Int = 1_000) -> AsyncRows<Element> { AsyncRows(self, page: page) }

    /// All results, and then what has changed, in batches: each object once with its last state. It ends when nothing is
    /// left. Keep the ``ConsumerBatch/checkpoint`` of the last batch that was handled, and pass it the next time.
    ///
    /// A checkpoint is worth nothing any more where the database has another history since, or where its log does not
    /// reach back: ``ChangeBatch/isReset`` then says that all results follow once more. ``ServerDatabase/consumer(_:of:options:)``
    /// keeps the checkpoint in the database, and the log for it.
    ///
    /// - Parameters:
    ///   - checkpoint: nil to begin with all results.
    ///   - limit: at most so many objects in a batch.
    public func changes(since checkpoint: Checkpoint?, limit: Int = 1_000) -> Batches<Element> {
        Batches(self, checkpoint, limit)
    }
}

/// The results of a query one by one; see ``ServerResults/rows(page:)``.
public struct AsyncRows<Element: ResultElement>: AsyncSequence, Sendable {
    private let results: ServerResults<Element>
    private let page: Int

    init(_ results: ServerResults<Element>, page: Int) {
        self.results = results
        self.page = page
    }

    public func makeAsyncIterator() -> Iterator { Iterator(reader: RowReader(results, page: page)) }

    /// Reads one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: RowReader<Element>

        /// Waits for the next result; nil after the last one.
        ///
        /// - Throws: `QueryError`; `ModelError` for an object that cannot be read as its type; `ServerError` when the
        ///   database cannot be used; `CancellationError`.
        public mutating func next() async throws -> Element? { try await reader.next() }
    }
}

/// Batches of changes; see ``ServerResults/changes(since:limit:)``.
public struct Batches<Element: ResultElement>: AsyncSequence, Sendable {
    private let results: ServerResults<Element>
    private let checkpoint: Checkpoint?
    private let limit: Int

    init(_ results: ServerResults<Element>, _ checkpoint: Checkpoint?, _ limit: Int) {
        self.results = results
        self.checkpoint = checkpoint
        self.limit = limit
    }

    public func makeAsyncIterator() -> Iterator { Iterator(results, checkpoint, limit) }

    /// Reads one batch after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let results: ServerResults<Element>
        private let limit: Int
        private var place: Checkpoint?
        private var chunk: ConsumerChunk?
        private var position = 0

        fileprivate init(_ results: ServerResults<Element>, _ checkpoint: Checkpoint?, _ limit: Int) {
            self.results = results
            self.limit = Swift.max(1, limit)
            place = checkpoint
        }

        /// Waits for the next batch; nil when nothing is left.
        ///
        /// - Throws: `QueryError`; `ModelError`; `ServerError` when the database cannot be used; `CancellationError`.
        public mutating func next() async throws -> ChangeBatch<Element>? {
            while true {
                try Task.checkCancellation()
                if let chunk {
                    let end = Swift.min(chunk.items.count, position + limit)
                    let batch = try ChangeBatch(
                        chunk, position..<end, isReset: chunk.isReset && position == 0, results)
                    position = end
                    if end == chunk.items.count { leave(chunk) }
                    return batch
                }
                let results = results
                let found = try await results.database.access.chunk(after: place, ChunkSizes()) {
                    try results.query(in: $0)
                }
                position = 0
                guard found.items.isEmpty, !found.isReset else {
                    chunk = found
                    continue
                }
                place = found.end
                if found.isLast { return nil }
            }
        }

        private mutating func leave(_ finished: ConsumerChunk) {
            place = finished.end
            chunk = nil
        }
    }
}

/// Some of what has changed in the results of a query.
public struct ChangeBatch<Element: ResultElement>: Sendable {
    /// The results that are new, or that were changed.
    public let upserts: [Element]
    /// The objects that are no results any more. There may be some that were never given.
    public let removals: [ConsumerBatch<Element>.Removal]
    /// Whether all results follow once more, and what was given before has lost its meaning.
    public let isReset: Bool
    /// Where to go on after the batch.
    public let checkpoint: Checkpoint
    /// The version of the database at which the batch was read.
    public let version: UInt64

    fileprivate init(
        _ chunk: ConsumerChunk, _ range: Range<Int>, isReset: Bool, _ results: ServerResults<Element>
    ) throws {
        let className = chunk.schema[chunk.classIndex].name
        let binding = try results.database.bindings.binding(
            of: Element.self, classIndex: chunk.classIndex, schema: chunk.schema)
        var upserts: [Element] = []
        var removals: [ConsumerBatch<Element>.Removal] = []
        for item in chunk.items[range] {
            switch item {
            case .upsert(let row): upserts.append(try Element.decode(row, binding))
            case .removal(let key, let reason):
                removals.append(.init(identity: Identity(className: className, key: key), reason: reason))
            }
        }
        self.upserts = upserts
        self.removals = removals
        self.isReset = isReset
        checkpoint = chunk.checkpoint(before: range.upperBound)
        version = chunk.version
    }
}

/// Reads results page by page.
private struct RowReader<Element: ResultElement>: Sendable {
    private let results: ServerResults<Element>
    private let page: Int
    private var rows: [Element] = []
    private var position = 0
    private var place: Checkpoint?
    /// The results that are left of an ordered query; nil before it was run.
    private var listed: ArraySlice<ObjectRef>?
    private var isAtEnd = false

    init(_ results: ServerResults<Element>, page: Int) {
        self.results = results
        self.page = max(1, page)
    }

    mutating func next() async throws -> Element? {
        while position == rows.count {
            guard !isAtEnd else { return nil }
            try Task.checkCancellation()
            rows = try await read()
            position = 0
        }
        position += 1
        return rows[position - 1]
    }

    private mutating func read() async throws -> [Element] {
        let (results, page) = (results, page)
        let database = results.database
        let isOrdered = try await database.access.perform { objects in
            let query = try results.query(in: objects.schema)
            return query.object != nil || query.isPartial || !query.sort.isEmpty
        }
        guard isOrdered else {
            var sizes = ChunkSizes()
            sizes.rowCountMax = page
            let chunk = try await database.access.chunk(after: place, sizes) { try results.query(in: $0) }
            place = chunk.end
            // Without rows they are all read, and what follows are changes.
            isAtEnd = chunk.items.isEmpty
            let binding = try database.bindings.binding(
                of: Element.self, classIndex: chunk.classIndex, schema: chunk.schema)
            return try chunk.items.compactMap { item in
                guard case .upsert(let row) = item else { return nil }
                return try Element.decode(row, binding)
            }
        }
        var left = listed ?? []
        if listed == nil {
            left = try await database.access.query { try $0.refs(matching: results.query(in: $0.schema)) }[...]
        }
        let objects = left.prefix(page)
        listed = left.dropFirst(page)
        isAtEnd = listed?.isEmpty ?? true
        return try await database.access.query { source in
            try objects.compactMap { object in
                guard let row = try source.row(object) else { return nil }
                return try Element.decode(
                    row,
                    database.bindings.binding(of: Element.self, classIndex: object.classIndex, schema: source.schema))
            }
        }
    }
}
