internal import SluiceModel
internal import SluiceQuery

/// The results of a query one by one, read in pages from the database that has them: at no time are more than a page in
/// memory, however many there are.
///
/// Each object comes once. Results without a sort and a limit come in the order of their keys, each page as of the time at
/// which it is read, so that nobody waits for a reader that is slow; ``Batches`` tells what has changed meanwhile. Sorted
/// or limited ones are found when the iteration begins: their keys take memory, so there may be a million of them at
/// most, and one that is gone when its page is read is left out.
public struct AsyncRows<Element: ResultElement>: AsyncSequence, Sendable {
    private let host: any JobHost
    private let query: JobQuery
    private let page: Int

    package init(_ host: any JobHost, page: Int, of query: @escaping JobQuery) {
        self.host = host
        self.query = query
        self.page = page
    }

    /// How many results the query finds now, as whoever has the database counts them: the whole of a progress bar. Results
    /// that come or go during an iteration make it longer or shorter than that. No more than the query's limit. O(matches)
    /// there.
    ///
    /// - Throws: as the iteration.
    public func count() async throws -> Int { try await host.count(of: query) }

    public func makeAsyncIterator() -> Iterator { Iterator(reader: RowPages(host, page: page, query)) }

    /// Reads one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: RowPages<Element>

        /// Waits for the next result; nil after the last one.
        ///
        /// - Throws: `QueryError`; ``ModelError`` for an object that cannot be read as its type; `ServerError` or
        ///   ``SyncError`` when the database cannot be used; `CancellationError`.
        public mutating func next() async throws -> Element? { try await reader.next() }
    }
}

/// Reads results page by page.
private struct RowPages<Element: ResultElement>: Sendable {
    private let host: any JobHost
    private let query: JobQuery
    private let page: Int
    private var rows: [Element] = []
    private var position = 0
    private var place: Checkpoint?
    /// Whether the query has an order or a limit, and its results are listed first; nil before that is known.
    private var isListed: Bool?
    /// The results that are left of such a query.
    private var listed: ArraySlice<ObjectKey> = []
    private var isAtEnd = false

    init(_ host: any JobHost, page: Int, _ query: @escaping JobQuery) {
        self.host = host
        self.query = query
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
        if isListed == nil {
            let found = try await host.list(query)
            isListed = found != nil
            listed = found.map { $0[...] } ?? []
        }
        guard isListed == true else {
            var sizes = ChunkSizes()
            sizes.rowCountMax = page
            let chunk = try await host.chunk(after: place, sizes, of: query)
            place = chunk.end
            // Without rows they are all read, and what follows are changes.
            isAtEnd = chunk.items.isEmpty
            return try chunk.values(in: chunk.items.indices, of: host) { (value: Element, _) in value }.upserts
        }
        let keys = listed.prefix(page)
        listed = listed.dropFirst(page)
        isAtEnd = listed.isEmpty
        guard !keys.isEmpty else { return [] }
        let found = try await host.rows(Array(keys), of: query)
        let binding = try host.binding(of: Element.self, classIndex: found.classIndex, schema: found.schema)
        return try found.rows.map { try Element.decode($0, binding) }
    }
}
