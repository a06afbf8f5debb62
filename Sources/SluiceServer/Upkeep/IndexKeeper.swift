internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Makes and drops the indexes that the live queries want.
final class IndexKeeper {
    private let database: Database
    private var indexes: AutomaticIndexes
    private var hasFound = false

    private var storage: SQLiteServerStorage { database.storage }

    init(_ database: Database) {
        self.database = database
        indexes = AutomaticIndexes(limits: database.limits.automaticIndexes)
    }

    /// Notes that a query has begun to be live.
    func add(_ query: Query) { for query in wanting(query) { indexes.add(query, schema: storage.schema) } }

    /// Notes that a query is no longer live.
    func remove(_ query: Query) { for query in wanting(query) { indexes.remove(query, schema: storage.schema) } }

    /// Counts all live queries again, after the schema has grown.
    func replace(_ queries: some Sequence<Query>) {
        indexes.replace(queries.flatMap(wanting), schema: storage.schema)
    }

    /// A live query, and those that find out when time changes its results.
    private func wanting(_ query: Query) -> [Query] {
        let schema = storage.schema
        return [query]
            + query.form.timeEdges.compactMap { try? $0.next(after: Timestamp(microseconds: 0), schema: schema) }
    }

    /// Forgets everything, after the schema has changed in another way than by growing.
    func removeAll() {
        indexes = AutomaticIndexes(limits: database.limits.automaticIndexes)
        hasFound = false
    }

    /// Creates or drops one index, if that is due.
    func step(now: Timestamp) {
        // Skips a database that is in memory because it has nothing in it yet.
        guard database.materialize == nil, indexes.isDue(now: now, version: storage.version) else { return }
        var step: AutomaticIndexes.Step?
        do {
            try find()
            step = try indexes.next(now: now, version: storage.version) { try storage.rowCountMax(ofClass: $0) }
            switch step {
            case .make(let index):
                try storage.make(index)
                database.note(.info, "made an index", [("index", index.name(in: storage.schema))])
            case .drop(let index):
                try storage.drop(index)
                database.note(.info, "dropped an index", [("index", index.name(in: storage.schema))])
            case nil: return
            }
            if let step { indexes.done(step) }
        } catch {
            if let step { indexes.failed(step) }
            database.noteFailure("an index could not be made or dropped", error)
        }
    }

    /// Why an index that a query wants does not exist; nil if it does.
    func remark(on index: TableIndex) throws -> String? {
        try find()
        return indexes.remark(on: index, rowCount: try storage.rowCountMax(ofClass: index.classIndex))
    }

    /// Finds, once, the automatic indexes that the database already has.
    private func find() throws {
        guard !hasFound else { return }
        indexes.open(try storage.automaticIndexes())
        hasFound = true
    }
}
