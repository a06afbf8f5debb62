public import FoundationEssentials
public import SluiceModel
internal import SluiceWire

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

/// What there is to do in a queue.
public struct QueueStatus: Sendable, Hashable {
    /// The queue's name.
    public let name: String
    /// Its query in the query language, as it was when a worker last began; nil if none has.
    public let query: String?
    /// How many rows the query finds that nobody works at, and that have not failed for good: the lag of the queue. Rows
    /// that wait for another try count, and those that are not to be worked at yet, by ``WorkQueue/Options/notBefore``.
    /// nil if the query is not known, or not one of the database any more.
    public let waitingCount: Int?
    /// How many of the waiting rows have failed or were put off, and wait for another try.
    public let retryCount: Int
    /// When the first of those is tried again, by the server's clock; nil if there are none.
    public let nextRetry: Date?
    /// How many rows a worker has. One that was killed has its rows until another worker claims them.
    public let claimCount: Int
    /// How many rows have failed for good.
    public let deadCount: Int
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
        let letter = try record.decoded(as: DeadLetterRecord.self)
        object = try DeadLetterRecord.identity(of: record.key.name)
        error = letter.error
        attemptCount = Int(clamping: letter.attemptCount)
        time = letter.time.date
    }
}
