internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The results with which an observation begins. One thread at a time uses it.
package final class InitialResults: @unchecked Sendable {
    // Sound because it is made on the database's queue and then handed to one reader.
    private let query: Query
    private let version: UInt64
    private let inbox: ChangeInbox
    private var snapshot: ServerSnapshot?

    /// Takes a snapshot of the present state, or reads it at once where the database is in memory and so has no other
    /// connection.
    init(_ query: Query, of storage: SQLiteServerStorage, into inbox: ChangeInbox) throws {
        self.query = query
        self.inbox = inbox
        version = storage.version
        snapshot = try storage.snapshot()
        if snapshot == nil { read(in: storage) }
    }

    /// Reads the results beside the database's queue, unless they were read already.
    package func read() {
        guard let snapshot else { return }
        self.snapshot = nil
        defer { snapshot.close() }
        read(in: snapshot)
    }

    private func read(in source: any ObjectReading) {
        do {
            var change = ObservedChange(isInitial: true, schema: source.schema, version: version)
            for (object, row) in try source.results(of: query) { change.add(.inserted(row), of: object) }
            change.figures = try source.figures(of: query, schema: source.schema).map { .whole($0) }
            if query.countsMatches { change.total = try source.matchCount(of: query) }
            inbox.begin(with: change)
        } catch {
            inbox.finish(ServerError(.database, "the results could not be read: \(error)", cause: error))
        }
    }
}
