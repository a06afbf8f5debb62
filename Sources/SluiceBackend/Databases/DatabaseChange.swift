internal import FoundationEssentials
public import Sluice
internal import SluiceModel
internal import SluiceQuery
internal import SluiceServer
internal import SluiceWire

/// What has changed in the observed results of a database in this process. Each object occurs once.
///
/// It has the objects and no positions: a backend reacts to objects, and a list of all results would take memory for
/// each of them. A change of an object that a result links to is no change here; observe its class.
public struct DatabaseChange<Element: ResultElement>: Sendable {
    /// An object that is no result any more, and why.
    public typealias Removal = ConsumerBatch<Element>.Removal

    /// Whether this is the first event, which has every result there was when the observation began.
    public let isInitial: Bool
    /// The objects that left the results: deleted, or not matching any more.
    public let removals: [Removal]
    /// Who made the change; nil for the first event, and for what the observing handle wrote itself.
    public let remote: Remote?
    /// How many objects match the query at ``version``, whatever its limit; nil unless the query has a limit and asks for
    /// its total (``ServerResults/withTotal()``), and where that has not changed.
    public let total: Int?
    /// The version of the database that the change leads to.
    public let version: UInt64

    private let database: ServerDatabase
    let schema: Schema
    /// What the query computes, where that has changed.
    let figures: ToldFigures?
    private let inserted: [(classIndex: Int, row: Row)]
    private let modified: [(classIndex: Int, row: Row)]

    init(_ change: ObservedChange, _ database: ServerDatabase) {
        isInitial = change.isInitial
        version = change.version
        total = change.total
        figures = change.figures
        self.database = database
        schema = change.schema
        var (inserted, modified, removals): ([(Int, Row)], [(Int, Row)], [Removal]) = ([], [], [])
        for (object, outcome) in change.objects {
            switch outcome {
            case .inserted(let row): inserted.append((object.classIndex, row))
            case .modified(let row, _): modified.append((object.classIndex, row))
            case .removed(let reason):
                let identity = Identity(className: change.schema[object.classIndex].name, key: object.key)
                removals.append(Removal(identity: identity, reason: reason))
            }
        }
        self.inserted = inserted
        self.modified = modified
        self.removals = removals
        let authors = change.authors.map {
            Remote.Author(
                userID: $0.userID, operations: $0.kinds, acceptedAt: $0.acceptedAt.date, workerID: $0.workerID)
        }
        remote = change.isOwn || authors.isEmpty ? nil : Remote(authors: authors, receivedAt: Date())
    }

    /// The objects that became results, as they were at ``version``; those of the first event in the order of the query.
    /// Decodes them anew each time.
    ///
    /// - Throws: `ModelError` for the first object that cannot be read as its type.
    public var insertions: [Element] { get throws { try decode(inserted) } }

    /// The results whose content changed, as they were at ``version``. Decodes them anew each time.
    ///
    /// - Throws: `ModelError` for the first object that cannot be read as its type.
    public var modifications: [Element] { get throws { try decode(modified) } }

    private func decode(_ rows: [(classIndex: Int, row: Row)]) throws -> [Element] {
        try rows.map { classIndex, row in
            try Element.decode(
                row, database.bindings.binding(of: Element.self, classIndex: classIndex, schema: schema))
        }
    }
}

/// The changes of a query's results as an asynchronous sequence. Each iteration is a separate observation.
public struct DatabaseChanges<Element: ResultElement>: AsyncSequence, Sendable {
    let results: ServerResults<Element>

    /// Makes an iterator, whose observation begins with its first ``Iterator/next()``.
    public func makeAsyncIterator() -> Iterator { Iterator(results) }

    /// One observation.
    public struct Iterator: AsyncIteratorProtocol {
        private let results: ServerResults<Element>
        private var observation: Observation?

        init(_ results: ServerResults<Element>) { self.results = results }

        /// Waits for the next change; nil when the task was cancelled.
        ///
        /// - Throws: `QueryError`; `ServerError` when the database cannot be used, or not any more.
        public mutating func next() async throws -> DatabaseChange<Element>? {
            let current: Observation
            if let observation {
                current = observation
            } else {
                let (inbox, end) = try await results.begin()
                current = Observation(inbox, end)
                observation = current
            }
            return try await current.next().map { DatabaseChange($0, results.database) }
        }
    }
}

/// An observation that ends when nobody iterates any more.
private final class Observation: Sendable {
    private let inbox: ChangeInbox
    private let end: @Sendable () -> Void
    private let arrivals: AsyncStream<Void>

    init(_ inbox: ChangeInbox, _ end: @escaping @Sendable () -> Void) {
        self.inbox = inbox
        self.end = end
        // One arrival stands for all: whoever comes takes everything.
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        arrivals = stream
        inbox.onArrival { continuation.yield() }
    }

    func next() async throws -> ObservedChange? {
        var arrivals = arrivals.makeAsyncIterator()
        while !Task.isCancelled {
            switch inbox.take() {
            case .change(let change): return change
            case .ended(let error):
                if let error { throw error }
                return nil
            case .nothing: guard await arrivals.next() != nil else { return nil }
            }
        }
        return nil
    }

    deinit { end() }
}
