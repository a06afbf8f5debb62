package import SluiceModel
package import SluiceQuery
internal import SluiceWire

/// What consumers and queues ask of the database that they work on: one of a server in this process, or that of a store's
/// server.
package protocol JobHost: Sendable {
    /// The wall clock by which jobs wait.
    var time: Timestamp { get }

    /// Waits until a time of that clock, or until the task is cancelled.
    func sleep(until time: Timestamp) async

    /// Says something about a job in the log.
    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)])

    /// Has a closure called when something was committed, and when the database cannot be used any more.
    ///
    /// - Returns: ends that.
    func ring(_ bell: @escaping @Sendable () -> Void) -> @Sendable () -> Void

    /// A query's text in its own grammar.
    func text(of query: @escaping JobQuery) async throws -> String

    /// What a consumer is to be given after a checkpoint.
    ///
    /// - Parameter checkpoint: nil to begin with all results.
    func chunk(after checkpoint: Checkpoint?, _ sizes: ChunkSizes, of query: @escaping JobQuery) async throws
        -> ConsumerChunk

    /// The number of results of a query, at most its limit.
    func count(of query: @escaping JobQuery) async throws -> Int

    /// Rows that a queue's query finds, in its order.
    ///
    /// - Parameters:
    ///   - key: of the row that they come behind; nil for the first. See ``QueueRows/precedingVersion``.
    ///   - countMax: at most how many. Fewer may come, but at least one where there is one.
    ///   - withPartitions: whether to tell of which partitions somebody works at a row.
    func rows(
        after key: ObjectKey?, countMax: Int, ofQueue name: String, _ query: @escaping JobQuery, withPartitions: Bool
    ) async throws -> QueueRows

    /// The results of a query in its order, by their keys; nil if it has no order and no limit, so that it can be read in
    /// chunks.
    func list(_ query: @escaping JobQuery) async throws -> [ObjectKey]?

    /// Results of a query by their keys, in that order; without those that do not match any more.
    func rows(_ keys: [ObjectKey], of query: @escaping JobQuery) async throws -> JobRows

    /// A record of a job; nil if there is none.
    func record(_ key: JobRecord.Key) async throws -> JobRecord?

    /// All records of a space, ascending by name.
    func records(ofSpace space: String) async throws -> [JobRecord]

    /// The spaces with records whose names begin with a prefix, ascending, with the numbers of their records.
    func spaces(withPrefix prefix: String) async throws -> [(name: String, count: Int)]

    /// The version of the database.
    func version() async throws -> UInt64

    /// Makes changes of records, each of them if it counts.
    ///
    /// - Returns: for each whether it was made.
    func apply(_ writes: [JobWrite]) async throws -> [Bool]

    /// Runs a transaction that changes records of jobs, too.
    ///
    /// - Throws: ``JobWriteRejection`` when a change does not count; what `body` throws. Nothing is written then.
    func write<Result: Sendable>(
        _ writes: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result

    /// How rows of a class are decoded as a type.
    func binding(of element: any ResultElement.Type, classIndex: Int, schema: Schema) throws -> ElementBinding

    /// What an error means for a job.
    func meaning(of error: any Error) -> JobErrorMeaning
}

/// Makes a query for a schema.
package typealias JobQuery = @Sendable (Schema) throws -> Query

/// Rows of one class.
package struct JobRows: Sendable {
    package let rows: [Row]
    package let schema: Schema
    package let classIndex: Int
    /// The epochs that the rows' versions belong to.
    package let epochs: [Epoch]

    package init(_ rows: [Row], schema: Schema, classIndex: Int, epochs: [Epoch]) {
        self.rows = rows
        self.schema = schema
        self.classIndex = classIndex
        self.epochs = epochs
    }
}

/// Why the changes of records that a transaction carries do not count.
package enum JobWriteRejection: Error, Sendable {
    /// A record, or an object, is not what the job knows.
    case moved
    /// A row is finished and still matches its queue's query.
    case unfinished
}

/// What an error means for a job.
package enum JobErrorMeaning: Sendable {
    /// What was tried can be tried again, and may be what is wrong.
    case passing
    /// The database cannot be used at the moment, whatever is tried.
    case obstructed
    /// Nobody knows whether a transaction was stored.
    case outcomeUnknown
    /// The user may not do it: it may be what was tried, or all that the job does.
    case notPermitted
    /// The job cannot go on.
    case lasting

    /// Whether the database is what could not be used, and may be some time.
    package var isOfDatabase: Bool { self == .obstructed || self == .outcomeUnknown }

    /// Whether a job that has asked its host for something, and for nothing of its user's, cannot go on.
    package var endsJob: Bool { self == .lasting || self == .notPermitted }
}

extension JobHost {
    /// Makes changes of records, as many at a time as one request carries.
    ///
    /// - Returns: for each whether it was made.
    func applyAll(_ writes: [JobWrite]) async throws -> [Bool] {
        var made: [Bool] = []
        for start in stride(from: 0, to: writes.count, by: JobWrite.countMax) {
            made += try await apply(Array(writes[start..<min(start + JobWrite.countMax, writes.count)]))
        }
        return made
    }

    /// What an error means for a job on any host.
    package func meaning(ofAny error: any Error) -> JobErrorMeaning {
        guard let error = error as? JobError else { return meaning(of: error) }
        return switch error.code {
        case .superseded, .nameHeld, .newerFormat: .lasting
        default: .passing
        }
    }
}

extension JobRecord {
    /// Decodes what a record keeps.
    ///
    /// - Throws: ``JobError/Code/newerFormat`` if a newer version has stored it.
    func decoded<Kept: WireCodable>(as type: Kept.Type) throws -> Kept {
        do throws(WireError) { return try Kept(wireBytes: value) } catch {
            guard error.code == .unknownFormat else { throw error }
            throw JobError(
                .newerFormat,
                "what the database keeps of '\(key.space)' was stored by a newer version of Sluice: \(error.message). Run "
                    + "that version, or remove what is kept", cause: error)
        }
    }
}

extension JobRows {
    /// - Parameter schema: the schema of the database when the rows were read.
    init(from reader: inout ByteReader, schema: Schema) throws(WireError) {
        let classIndex = try reader.position()
        let rows = try reader.array(minimumSize: 2) { reader throws(WireError) in
            try Row(nestedIn: &reader, ofClass: classIndex, schema)
        }
        self.init(rows, schema: schema, classIndex: classIndex, epochs: try reader.epochs())
    }
}
