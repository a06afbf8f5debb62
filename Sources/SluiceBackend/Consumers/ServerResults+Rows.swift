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
        private var cursor: ChunkCursor

        fileprivate init(_ results: ServerResults<Element>, _ checkpoint: Checkpoint?, _ limit: Int) {
            self.results = results
            self.limit = limit
            cursor = ChunkCursor(checkpoint)
        }

        /// Waits for the next batch; nil when nothing is left.
        ///
        /// - Throws: `QueryError`; `ModelError`; `ServerError` when the database cannot be used; `CancellationError`.
        public mutating func next() async throws -> ChangeBatch<Element>? {
            while true {
                try Task.checkCancellation()
                if let (chunk, range) = cursor.next(limit) {
                    let batch = try ChangeBatch(chunk, range, of: results)
                    cursor.advance(to: range.upperBound)
                    return batch
                }
                let results = results
                let found = try await results.database.access.chunk(after: cursor.place, ChunkSizes()) {
                    try results.query(in: $0)
                }
                if cursor.take(found) { return nil }
            }
        }
    }
}

/// Some of what has changed in the results of a query.
public struct ChangeBatch<Element: ResultElement>: Sendable {
    /// The results that are new, or that were changed.
    public let upserts: [Element]
    /// The objects that are no results any more. There may be some that were never given.
    public let removals: [DatabaseChange<Element>.Removal]
    /// Whether all results follow once more, and what was given before has lost its meaning.
    public let isReset: Bool
    /// Where to go on after the batch.
    public let checkpoint: Checkpoint
    /// The version of the database at which the batch was read.
    public let version: UInt64

    fileprivate init(_ chunk: ConsumerChunk, _ range: Range<Int>, of results: ServerResults<Element>) throws {
        (upserts, removals) = try chunk.values(in: range, of: results.database) { (value: Element, _) in value }
        isReset = chunk.isReset(in: range)
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
    /// Whether the query has an order or a limit, and its results are listed first; nil before that is known.
    private var isListed: Bool?
    /// The results that are left of such a query.
    private var listed: ArraySlice<ObjectRef> = []
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
        let (results, database) = (results, results.database)
        if isListed == nil {
            let found = try await database.access.query { objects -> [ObjectRef]? in
                let query = try results.query(in: objects.schema)
                let isListed = query.object != nil || query.isPartial || !query.sort.isEmpty
                return isListed ? try objects.refs(matching: query) : nil
            }
            isListed = found != nil
            listed = found.map { $0[...] } ?? []
        }
        guard isListed == true else {
            var sizes = ChunkSizes()
            sizes.rowCountMax = page
            let chunk = try await database.access.chunk(after: place, sizes) { try results.query(in: $0) }
            place = chunk.end
            // Without rows they are all read, and what follows are changes.
            isAtEnd = chunk.items.isEmpty
            return try chunk.values(in: chunk.items.indices, of: database) { (value: Element, _) in value }.upserts
        }
        let objects = listed.prefix(page)
        listed = listed.dropFirst(page)
        isAtEnd = listed.isEmpty
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
