package import Sluice
internal import SluiceModel
internal import SluiceQuery
internal import SluiceServer
internal import SluiceStorage
internal import SluiceWire

/// The database of a server in this process, as jobs use it.
struct ServerJobHost: JobHost {
    let database: ServerDatabase
    /// The user as whom jobs read and write; nil for the server itself.
    let user: String?

    private var access: DatabaseAccess { database.access }

    var time: Timestamp { access.time }

    func sleep(until time: Timestamp) async { await access.sleep(until: time) }

    func note(_ level: LogLevel, _ message: String, _ details: [(String, String)]) {
        access.note(level, message, details)
    }

    func ring(_ bell: @escaping @Sendable () -> Void) -> @Sendable () -> Void { access.ring(bell) }

    func text(of query: @escaping JobQuery) async throws -> String {
        try await access.perform { try query($0.schema).canonicalText }
    }

    // MARK: Reading

    func chunk(
        after checkpoint: Checkpoint?, _ sizes: ChunkSizes, of query: @escaping JobQuery
    ) async throws -> ConsumerChunk { try await access.chunk(after: checkpoint, sizes, readBy: user, of: query) }

    func count(of query: @escaping JobQuery) async throws -> Int {
        try await access.query(readBy: user, query) { try $0.count(matching: $1) }
    }

    func rows(
        after key: ObjectKey?, countMax: Int, ofQueue name: String, _ query: @escaping JobQuery, withPartitions: Bool
    ) async throws -> QueueRows {
        let (found, schema) = try await access.query(readBy: user, query) { objects, query in
            (try objects.rows(of: query, after: key, countMax: countMax), objects.schema)
        }
        let now = access.time
        return try await access.jobs { storage, _ in
            try storage.queueRows(found, schema, name, at: now, storage.epochs, withPartitions: withPartitions)
        }
    }

    func list(_ query: @escaping JobQuery) async throws -> [ObjectKey]? {
        try await access.query(readBy: user, query) { try $0.listedKeys(of: $1) }
    }

    func rows(_ keys: [ObjectKey], of query: @escaping JobQuery) async throws -> JobRows {
        let epochs = try await access.jobs { storage, _ in storage.epochs }
        return try await access.query(readBy: user, query) { objects, query in
            let found = try objects.rows(keys, of: query)
            return JobRows(
                found.rows, schema: objects.schema, classIndex: found.classIndex,
                epochs: epochs.covering(found.rows.lazy.map(\.version)))
        }
    }

    // MARK: Records

    func record(_ key: JobRecord.Key) async throws -> JobRecord? {
        try await access.jobs { records, _ in try records.job(key) }
    }

    func records(ofSpace space: String) async throws -> [JobRecord] {
        var records: [JobRecord] = []
        while true {
            let last = records.last?.key.name
            let found = try await access.jobs { records, _ in
                try records.jobs(ofSpace: space, after: last, countMax: JobWrite.countMax)
            }
            records += found
            guard found.count == JobWrite.countMax else { return records }
        }
    }

    func spaces(withPrefix prefix: String) async throws -> [(name: String, count: Int)] {
        try await access.jobs { records, _ in
            try records.jobSpaces(withPrefix: prefix).map { ($0, try records.jobCount(ofSpace: $0)) }
        }
    }

    func version() async throws -> UInt64 { try await access.jobs { _, version in version } }

    func apply(_ writes: [JobWrite]) async throws -> [Bool] {
        do { return try await database.applyJobs(writes, actingAs: user) } catch let conflict as JobConflict {
            throw ServerError(.rejected, conflict.message)
        }
    }

    func write<Result: Sendable>(
        _ writes: [JobWrite], _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        do { return try await database.write(actingAs: user, with: writes, body) } catch let conflict as JobConflict {
            throw conflict.code == .jobUnfinished ? JobWriteRejection.unfinished : .moved
        }
    }

    func binding(of element: any ResultElement.Type, classIndex: Int, schema: Schema) throws -> ElementBinding {
        try database.bindings.binding(of: element, classIndex: classIndex, schema: schema)
    }

    func meaning(of error: any Error) -> JobErrorMeaning { ServerError.jobMeaning(of: error) }
}

extension ServerError {
    /// What an error of a database in this process means for a job on it.
    package static func jobMeaning(of error: any Error) -> JobErrorMeaning {
        if let error = error as? StorageError { return error.jobMeaning }
        guard let error = error as? ServerError else { return .passing }
        return switch error.code {
        case .stopped: .lasting
        case .outcomeUnknown: .outcomeUnknown
        case .database: (error.cause as? StorageError)?.jobMeaning ?? .passing
        default: .passing
        }
    }
}

extension StorageError {
    fileprivate var jobMeaning: JobErrorMeaning {
        switch code {
        case .outcomeUnknown: .outcomeUnknown
        case .damaged, .notADatabase, .foreignFile, .newerFormat: .lasting
        case .vanished, .locked, .busy, .full, .io, .tooManyFiles, .readOnly, .journal: .obstructed
        default: .passing
        }
    }
}

extension ServerDatabase {
    /// The database as jobs use it.
    package var host: any JobHost { host(as: nil) }

    /// The same for a user's jobs.
    func host(as user: String?) -> any JobHost { ServerJobHost(database: self, user: user) }
}
