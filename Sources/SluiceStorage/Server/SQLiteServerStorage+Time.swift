package import SluiceModel

/// The time of queries, which a version has by the group that made it.
extension SQLiteServerStorage {
    package func reading<Result>(at time: Timestamp, _ body: () throws -> Result) rethrows -> Result {
        tables.now = max(log.time, time)
        defer { tables.now = log.time }
        return try body()
    }
}

extension SQLiteServerSnapshot {
    func read(at time: Timestamp) { tables.now = max(tables.now, time) }
}
