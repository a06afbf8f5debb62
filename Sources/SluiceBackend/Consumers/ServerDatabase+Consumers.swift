public import FoundationEssentials
public import Sluice
public import SluiceModel
internal import SluiceServer
internal import SluiceStorage
internal import SluiceWire

extension ServerDatabase {
    /// Makes a consumer of a query's results. Making it does nothing: ``Consumer/run(_:)`` takes the name.
    ///
    /// - Parameters:
    ///   - name: names the consumer among those of the database, by which it finds how far it has come.
    ///   - results: what it handles.
    ///   - options: how it handles failures, and how much it is given at a time.
    public func consumer<Element: ResultElement>(
        _ name: String, of results: ServerResults<Element>, options: Consumer<Element>.Options = .init()
    ) -> Consumer<Element> { Consumer(results, name, options) }

    /// The consumers of the database, by name. O(consumers + dead letters).
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func consumers() async throws -> [ConsumerStatus] {
        try await access.jobs { records, version in
            try ConsumerState.all(in: records).map { name, state in
                ConsumerStatus(
                    name, state, at: version,
                    deadLetterCount: try records.jobCount(ofSpace: ConsumerState.deadSpace(name)))
            }
        }
    }

    /// Removes what the database keeps of a consumer, its dead letters too. One that runs ends with
    /// ``JobError/Code/superseded``; one that begins under the name begins with all results.
    ///
    /// - Throws: `ServerError` when the database cannot be written.
    public func removeConsumer(_ name: String) async throws {
        try await removeDeadLetters(ofSpace: ConsumerState.deadSpace(name))
        try await writeJobs { _ in ((), [.remove(ConsumerState.key(name))]) }
    }

    /// The objects that a consumer has given up, by key.
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func deadLetters(ofConsumer name: String) async throws -> [DeadLetter] {
        try await deadLetters(ofSpace: ConsumerState.deadSpace(name))
    }

    /// Forgets that a consumer has given up an object.
    ///
    /// - Throws: `ServerError` when the database cannot be written.
    public func discardDeadLetter(_ object: Identity, ofConsumer name: String) async throws {
        let key = DeadLetterRecord.key(object, in: ConsumerState.deadSpace(name))
        try await writeJobs { _ in ((), [.remove(key)]) }
    }

    /// How many records one transaction or one look at them takes.
    static var recordCountMax: Int { 1_000 }

    func deadLetters(ofSpace space: String) async throws -> [DeadLetter] {
        var letters: [DeadLetter] = []
        var last: [UInt8]?
        while true {
            let after = last
            let records = try await access.jobs { records, _ in
                try records.jobs(ofSpace: space, after: after, countMax: Self.recordCountMax)
            }
            letters += try records.map { try DeadLetter($0) }
            guard records.count == Self.recordCountMax, let record = records.last else { return letters }
            last = record.key.name
        }
    }

    func removeDeadLetters(ofSpace space: String) async throws {
        var isDone = false
        while !isDone {
            isDone = try await writeJobs { records in
                let found = try records.jobs(ofSpace: space, after: nil, countMax: Self.recordCountMax)
                return (found.count < Self.recordCountMax, found.map { .remove($0.key) })
            }
        }
    }
}

/// How far a consumer has come.
public struct ConsumerStatus: Sendable, Hashable {
    /// The consumer's name.
    public let name: String
    /// Its query in the query language.
    public let query: String
    /// How many versions of the database it has not looked at; nil while it reads all results.
    public let lag: UInt64?
    /// How many objects it has handled.
    public let handledCount: UInt64
    /// When it committed last; nil if it never did.
    public let committedAt: Date?
    /// How many objects it has given up.
    public let deadLetterCount: Int

    init(_ name: String, _ state: ConsumerState, at version: UInt64, deadLetterCount: Int) {
        self.name = name
        query = state.query
        handledCount = state.handledCount
        committedAt = state.committedAt?.date
        self.deadLetterCount = deadLetterCount
        if case .changes(let after, _, _, _)? = state.checkpoint?.place {
            lag = version - min(after, version)
        } else {
            lag = nil
        }
    }
}

/// An object that a job has given up.
public struct DeadLetter: Sendable, Hashable {
    /// The class and key of the object.
    public let object: Identity
    /// What the last attempt threw.
    public let error: String
    /// How often it was tried.
    public let attemptCount: Int
    /// When it was given up.
    public let time: Date

    init(_ record: JobRecord) throws {
        let letter = try DeadLetterRecord(wireBytes: record.value)
        object = try DeadLetterRecord.identity(of: record.key.name)
        error = letter.error
        attemptCount = Int(clamping: letter.attemptCount)
        time = letter.time.date
    }
}
