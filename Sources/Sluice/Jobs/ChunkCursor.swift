internal import SluiceModel
internal import SluiceQuery

/// A place in what a reader of results and their changes is still to be given: a checkpoint, or a position in a chunk that
/// was read after it.
struct ChunkCursor: Sendable {
    /// Where the next chunk is read.
    private(set) var place: Checkpoint?
    /// The chunk of which some is left.
    private(set) var chunk: ConsumerChunk?
    /// The items of the chunk before this position were given.
    private(set) var position = 0

    init(_ place: Checkpoint?) { self.place = place }

    /// Some of what is left of the chunk; nil if a chunk is to be read first.
    ///
    /// - Parameter limit: at most so many items.
    func next(_ limit: Int) -> (chunk: ConsumerChunk, range: Range<Int>)? {
        chunk.map { ($0, position..<min($0.items.count, position + max(1, limit))) }
    }

    /// Goes on behind a part of the chunk.
    mutating func advance(to end: Int) {
        guard let count = chunk?.items.count, let next = chunk?.end else { return }
        if end >= count { self = ChunkCursor(next) } else { position = end }
        // Whoever is to begin anew was told so.
        chunk?.isReset = false
    }

    /// Takes the chunk that was read at ``place``.
    ///
    /// - Returns: whether nothing is left for the reader now.
    mutating func take(_ found: ConsumerChunk) -> Bool {
        guard found.items.isEmpty, !found.isReset else {
            (chunk, position) = (found, 0)
            return false
        }
        place = found.end
        return found.isLast
    }
}

extension ConsumerChunk {
    /// Whether a part begins anew; see ``ConsumerBatch/isReset``.
    func isReset(in range: Range<Int>) -> Bool { isReset && range.lowerBound == 0 }

    /// The name of the items' class; it means nothing where there are none.
    var className: String { schema.classes.indices.contains(classIndex) ? schema[classIndex].name : "" }

    /// The rows of a part as items, and what is gone.
    ///
    /// - Parameter job: whom the items' ids are for; nil for everybody.
    /// - Throws: `ModelError` for the first row that cannot be read as its type.
    func items<Element: ResultElement>(
        in range: Range<Int>, of host: any JobHost, for job: String? = nil
    ) throws -> (upserts: [ConsumerBatch<Element>.Item], removals: [ConsumerBatch<Element>.Removal]) {
        try values(in: range, of: host) { (value: Element, row) in
            ConsumerBatch<Element>.Item(
                value: value, identity: Identity(className: className, key: row.key), version: row.version,
                id: StateName.of(row, ofClass: className, epochs, for: job))
        }
    }

    /// The rows of a part as values, and what is gone.
    ///
    /// - Parameter make: makes of a value and its row what is wanted.
    /// - Throws: `ModelError` for the first row that cannot be read as its type.
    func values<Element: ResultElement, Item>(
        in range: Range<Int>, of host: any JobHost, _ make: (Element, Row) -> Item
    ) throws -> (upserts: [Item], removals: [ConsumerBatch<Element>.Removal]) {
        guard !range.isEmpty else { return ([], []) }
        let binding = try host.binding(of: Element.self, classIndex: classIndex, schema: schema)
        var (upserts, removals): ([Item], [ConsumerBatch<Element>.Removal]) = ([], [])
        for item in items[range] {
            switch item {
            case .upsert(let row): upserts.append(make(try Element.decode(row, binding), row))
            case .removal(let key, let reason):
                removals.append(.init(identity: Identity(className: className, key: key), reason: reason))
            }
        }
        return (upserts, removals)
    }
}
