package import SluiceModel
package import SluiceQuery
package import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Results that a job of a client asks for, while they are read: beside the writer, or by the writer of a database in
/// memory.
final class JobReading: SnapshotReading {
    enum Task {
        /// A part of all results, in the order of keys.
        case page(ResultPage)
        case count(Query)
        /// The keys of all results, where they have an order of their own.
        case list(Query)
        /// Results by their keys.
        case rows(Query, [ObjectKey])
        /// Rows of a queue, at most so many behind that with a key, or from the first on.
        case queue(name: String, Query, after: ObjectKey?, countMax: Int, withPartitions: Bool)
    }

    enum Outcome {
        /// Not read yet.
        case none
        case chunk(ConsumerChunk)
        case count(Int)
        case keys([ObjectKey]?)
        case rows(FoundRows)
    }

    let task: Task
    private(set) var outcome = Outcome.none

    init(_ task: Task) { self.task = task }

    func read(in snapshot: ServerSnapshot, within work: WorkLimit) throws { try read(in: snapshot) }

    func read(in source: SQLiteObjectStore) throws {
        switch task {
        case .page(let page):
            outcome = .chunk(try page.read(in: source).shown(to: page.query.context, in: source))
        case .count(let query): outcome = .count(try source.count(matching: query))
        case .queue(_, let query, let key, let countMax, _):
            outcome = .rows(try source.rows(of: query, after: key, countMax: countMax))
        case .list(let query):
            do { outcome = .keys(try source.listedKeys(of: query)) } catch let error as QueryError {
                throw RequestRejection(error)
            }
        case .rows(let query, let keys):
            outcome = .rows(try source.rows(keys, of: query))
        }
    }
}

/// Rows of one class.
package struct FoundRows {
    package let rows: [Row]
    /// Their class; the first where there are none.
    package let classIndex: Int
    /// Whether the query finds none behind them.
    package let isLast: Bool
    /// Behind what they come; see ``QueueRows/precedingVersion``.
    package var precedingVersion: UInt64?
}

/// Rows as a reader sees them: without the objects that the reader may not read, and without the properties that are
/// hidden of the others.
package struct ShownRows {
    private let objects: ReadableObjects
    private let context: ReadContext
    private let schema: Schema

    package init(_ source: any ObjectReading, to context: ReadContext) {
        objects = ReadableObjects(source, in: context)
        self.context = context
        schema = source.schema
    }

    /// An object; nil if it is not there for the reader.
    package func row(_ object: ObjectRef) throws -> Row? {
        try objects.row(object).map { hiding($0, ofClass: object.classIndex) }
    }

    /// A row that the reader may read.
    func shown(_ row: Row, ofClass classIndex: Int) throws -> Row {
        hiding(try objects.shown(row, ofClass: classIndex), ofClass: classIndex)
    }

    private func hiding(_ row: Row, ofClass classIndex: Int) -> Row {
        var row = row
        for property in context.veil(ofClass: classIndex).properties {
            row.set(schema[classIndex].properties[property].defaultValue, of: property)
            row.setIdentity(nil, of: property)
            row.absent.insert(property)
        }
        return row
    }
}

extension ObjectReading {
    /// The class of a query's results: where it names an object, that of the object; nil if that is not there.
    package func classIndex(of query: Query) throws -> Int? {
        guard let id = query.object else { return query.classIndex }
        return try findObject(id)?.classIndex
    }

    /// Results of a query by their keys, as its reader sees them, in that order; without those that do not match its
    /// condition any more. Its limit and section are left out of account.
    package func rows(_ keys: [ObjectKey], of query: Query) throws -> FoundRows {
        let classIndex = try classIndex(of: query)
        let shown = ShownRows(self, to: query.context)
        let evaluator = query.object == nil ? Evaluator(query, schema: schema) : nil
        let readable = ReadableObjects(self, in: query.context)
        let rows = try classIndex.map { classIndex in
            try keys.compactMap { key in
                try shown.row(ObjectRef(classIndex, key)).flatMap { row in
                    try evaluator?.matches(row, in: readable) ?? true ? row : nil
                }
            }
        }
        return FoundRows(rows: rows ?? [], classIndex: classIndex ?? 0, isLast: true)
    }
}

extension SQLiteObjectStore {
    /// The keys of a query's results in its order; nil if it has none of its own, so that its results are read by their
    /// keys.
    ///
    /// - Throws: `QueryError` if there are more than ``listedCountMax``, which one answer and one reader's memory hold.
    package func listedKeys(of query: Query) throws -> [ObjectKey]? {
        guard query.isListed else { return nil }
        let refs = try refs(matching: query)
        guard refs.count <= Self.listedCountMax else {
            throw QueryError(
                .limitExceeded,
                "the query finds \(refs.count) results, and at most \(Self.listedCountMax) are read in an order of their own: "
                    + "leave out SORT, LIMIT and DISTINCT to read them in the order of their keys, or set a lower LIMIT",
                at: nil)
        }
        return refs.map(\.key)
    }

    private static let listedCountMax = 1_000_000

    /// Rows of a query in its order, as its reader sees them; ascending by key where it has none.
    ///
    /// Without an order they are found by the key whether or not its row is there. With one, by the values that the row has
    /// now: it may stand elsewhere than when it was read, and where the row is gone the first rows are found.
    ///
    /// - Parameters:
    ///   - key: of the row that they come behind; nil for the first. O(rows before it) for a query with a limit or a
    ///     section, or of one object.
    ///   - countMax: at most so many, and about a megabyte of them, but at least one.
    package func rows(of query: Query, after key: ObjectKey?, countMax: Int) throws -> FoundRows {
        guard let classIndex = try classIndex(of: query) else {
            return FoundRows(rows: [], classIndex: 0, isLast: true)
        }
        let countMax = max(1, min(countMax, Int(Int32.max)))
        let shown = ShownRows(self, to: query.context)
        let byteCountMax = 1 << 20
        var rows: [Row] = []
        var (byteCount, isLast) = (0, true)
        func add(_ row: Row) throws -> Bool {
            isLast = rows.count < countMax && byteCount < byteCountMax
            guard isLast else { return false }
            rows.append(try shown.shown(row, ofClass: classIndex))
            byteCount += row.byteCount
            return true
        }
        guard query.isListed else {
            for row in try self.rows(
                matching: query, afterKey: key, limit: countMax + 1, byteCountMax: byteCountMax)
            {
                guard try add(row) else { break }
            }
            // A page that is full ends without having looked further.
            isLast = isLast && byteCount < byteCountMax
            return FoundRows(rows: rows, classIndex: classIndex, isLast: isLast, precedingVersion: key.map { _ in 0 })
        }
        var preceding: Row?
        if query.object != nil || query.isPartial || query.hasSection {
            let results = try results(of: query)
            let index = key.flatMap { key in results.firstIndex { $0.row.key == key } }
            preceding = index.map { results[$0].row }
            for (_, row) in results[(index.map { $0 + 1 } ?? 0)...] {
                guard try add(row) else { break }
            }
        } else {
            preceding = try key.flatMap { try shown.row(ObjectRef(classIndex, $0)) }
            let position = try preceding.map { row in
                SortPosition(
                    values: try Evaluator(query, schema: schema).sortValues(
                        of: row, in: ReadableObjects(self, in: query.context)),
                    id: Identity(className: query.className, key: row.key).objectID)
            }
            try self.rows(matching: query, after: position, limit: countMax + 1, add)
        }
        return FoundRows(
            rows: rows, classIndex: classIndex, isLast: isLast, precedingVersion: preceding?.version)
    }
}

extension Query {
    /// Whether its results have an order of their own or a limit, so that they are not read in the order of their keys.
    package var isListed: Bool { object != nil || isPartial || hasSection || !sort.isEmpty }
}

extension Row {
    /// What the row takes in memory and on its way, about.
    var byteCount: Int { values.reduce(12 + key.byteCount) { $0 + $1.dataSize.byteCount } }
}

extension ConsumerChunk {
    /// The chunk as a reader sees its rows.
    func shown(to context: ReadContext, in source: any ObjectReading) throws -> ConsumerChunk {
        guard !context.isEverything else { return self }
        let rows = ShownRows(source, to: context)
        var chunk = self
        chunk.items = try items.map { item in
            guard case .upsert(let row) = item else { return item }
            return .upsert(try rows.shown(row, ofClass: classIndex))
        }
        return chunk
    }
}
