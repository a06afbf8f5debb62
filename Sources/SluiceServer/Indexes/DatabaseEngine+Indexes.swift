internal import SluiceModel
internal import SluiceStorage

extension DatabaseEngine {
    /// Creates or drops one index, if that is due.
    func keepIndexes(now: Timestamp) {
        // Skips a database that is in memory because it has nothing in it yet.
        guard materialize == nil, automaticIndexes.isDue(now: now, version: storage.version) else { return }
        var step: AutomaticIndexes.Step?
        do {
            try findIndexes()
            step = try automaticIndexes.next(now: now, version: storage.version) {
                try storage.rowCountMax(ofClass: $0)
            }
            switch step {
            case .make(let index):
                try storage.make(index)
                log?(.info, "made an index", [("database", name), ("index", index.name(in: storage.schema))])
            case .drop(let index):
                try storage.drop(index)
                log?(.info, "dropped an index", [("database", name), ("index", index.name(in: storage.schema))])
            case nil: return
            }
            if let step { automaticIndexes.done(step) }
        } catch {
            if let step { automaticIndexes.failed(step) }
            noteFailure("an index could not be made or dropped", error)
        }
    }

    /// Finds, once, the automatic indexes that the database already has.
    func findIndexes() throws {
        guard !hasFoundIndexes else { return }
        automaticIndexes.open(try storage.automaticIndexes())
        hasFoundIndexes = true
    }
}
