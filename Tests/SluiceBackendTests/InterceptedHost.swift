import Sluice
import SluiceModel
import SluiceQuery

/// A host of jobs that calls a test before it uses the database, and after it has read rows of a queue or has written.
struct InterceptedHost: JobHost {
    enum Use {
        case reading
        case writing
        /// Rows of a queue were read, and are claimed next.
        case hasReadRows(QueueRows)
        /// Changes of records were made, also with a transaction.
        case hasWritten([JobWrite])
        /// It waits until a time. What is thrown then has no effect.
        case sleeping(Timestamp)
    }

    let base: any JobHost
    /// May wait, or throw in the place of the database.
    let intercept: @Sendable (Use) async throws -> Void

    var time: Timestamp { base.time }
    func sleep(until time: Timestamp) async {
        try? await intercept(.sleeping(time))
        await base.sleep(until: time)
    }

    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)]) {
        base.note(level, message, details)
    }
    func ring(_ bell: @escaping @Sendable () -> Void) -> @Sendable () -> Void { base.ring(bell) }

    func text(of query: @escaping JobQuery) async throws -> String {
        try await intercept(.reading)
        return try await base.text(of: query)
    }

    func chunk(
        after checkpoint: Checkpoint?, _ sizes: ChunkSizes, of query: @escaping JobQuery
    ) async throws -> ConsumerChunk {
        try await intercept(.reading)
        return try await base.chunk(after: checkpoint, sizes, of: query)
    }

    func count(of query: @escaping JobQuery) async throws -> Int {
        try await intercept(.reading)
        return try await base.count(of: query)
    }

    func rows(
        after key: ObjectKey?, countMax: Int, ofQueue name: String, _ query: @escaping JobQuery, withPartitions: Bool
    ) async throws -> QueueRows {
        try await intercept(.reading)
        let rows = try await base.rows(
            after: key, countMax: countMax, ofQueue: name, query, withPartitions: withPartitions)
        try await intercept(.hasReadRows(rows))
        return rows
    }

    func list(_ query: @escaping JobQuery) async throws -> [ObjectKey]? {
        try await intercept(.reading)
        return try await base.list(query)
    }

    func rows(_ keys: [ObjectKey], of query: @escaping JobQuery) async throws -> JobRows {
        try await intercept(.reading)
        return try await base.rows(keys, of: query)
    }

    func record(_ key: JobRecord.Key) async throws -> JobRecord? {
        try await intercept(.reading)
        return try await base.record(key)
    }

    func records(ofSpace space: String) async throws -> [JobRecord] {
        try await intercept(.reading)
        return try await base.records(ofSpace: space)
    }

    func spaces(withPrefix prefix: String) async throws -> [(name: String, count: Int)] {
        try await intercept(.reading)
        return try await base.spaces(withPrefix: prefix)
    }

    func version() async throws -> UInt64 {
        try await intercept(.reading)
        return try await base.version()
    }

    func apply(_ writes: [JobWrite]) async throws -> [Bool] {
        try await intercept(.writing)
        let made = try await base.apply(writes)
        try await intercept(.hasWritten(writes))
        return made
    }

    func write<Result: Sendable>(
        _ writes: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        try await intercept(.writing)
        let result = try await base.write(writes, body)
        try await intercept(.hasWritten(writes))
        return result
    }

    func binding(of element: any ResultElement.Type, classIndex: Int, schema: Schema) throws -> ElementBinding {
        try base.binding(of: element, classIndex: classIndex, schema: schema)
    }

    func meaning(of error: any Error) -> JobErrorMeaning { base.meaning(of: error) }
}
