package import SluiceModel

/// The time of queries, which a version has by the group that made it.
extension SQLiteServerStorage {
    /// Runs queries at a later time than that of ``version``. Nothing may be applied meanwhile.
    package func reading<Result>(at time: Timestamp, _ body: () throws -> Result) rethrows -> Result {
        tables.now = max(log.time, time)
        defer { tables.now = log.time }
        return try body()
    }
}

extension ServerSnapshot {
    /// Lets queries see a later time than that of the version.
    package func read(at time: Timestamp) { tables.now = max(tables.now, time) }
}
