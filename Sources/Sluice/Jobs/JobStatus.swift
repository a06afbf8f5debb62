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

/// What a queue has besides its rows.
public struct QueueStatus: Sendable, Hashable {
    /// The queue's name.
    public let name: String
    /// How many rows somebody works at, or are to be tried again.
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

/// What a database keeps of its jobs.
extension JobHost {
    /// The consumers, by name. One that a newer version has stored is left out.
    package func consumers() async throws -> [ConsumerStatus] {
        let version = try await version()
        var letterCounts: [String: Int] = [:]
        for (space, count) in try await spaces(withPrefix: ConsumerState.deadPrefix) {
            letterCounts[String(space.dropFirst(ConsumerState.deadPrefix.count))] = count
        }
        var consumers: [ConsumerStatus] = []
        for (space, _) in try await spaces(withPrefix: ConsumerState.prefix) {
            let name = String(space.dropFirst(ConsumerState.prefix.count))
            guard let record = try await record(.init(space: space)),
                let state = try? record.decoded(as: ConsumerState.self)
            else { continue }
            consumers.append(
                ConsumerStatus(name, state, at: version, deadLetterCount: letterCounts[name, default: 0]))
        }
        return consumers
    }

    /// The queues of which something is kept, by name.
    package func queues() async throws -> [QueueStatus] {
        var counts: [String: (claims: Int, dead: Int)] = [:]
        for (space, count) in try await spaces(withPrefix: QueueClaim.prefix) {
            counts[String(space.dropFirst(QueueClaim.prefix.count)), default: (0, 0)].claims = count
        }
        for (space, count) in try await spaces(withPrefix: QueueClaim.deadPrefix) {
            counts[String(space.dropFirst(QueueClaim.deadPrefix.count)), default: (0, 0)].dead = count
        }
        return counts.sorted { $0.key < $1.key }.map {
            QueueStatus(name: $0.key, claimCount: $0.value.claims, deadCount: $0.value.dead)
        }
    }

    /// Removes what is kept of a consumer, its dead letters too.
    package func removeConsumer(_ name: String) async throws {
        let space = ConsumerState.deadSpace(name)
        let keys = try await records(ofSpace: space).map(\.key) + [ConsumerState.key(name)]
        for start in stride(from: 0, to: keys.count, by: JobWrite.countMax) {
            let chunk = keys[start..<min(start + JobWrite.countMax, keys.count)]
            _ = try await apply(chunk.map { JobWrite($0, .remove) })
        }
    }

    /// What a job has given up, by key.
    package func deadLetters(ofSpace space: String) async throws -> [DeadLetter] {
        try await records(ofSpace: space).map { try DeadLetter($0) }
    }

    /// The objects that a consumer has given up, by key.
    package func deadLetters(ofConsumer name: String) async throws -> [DeadLetter] {
        try await deadLetters(ofSpace: ConsumerState.deadSpace(name))
    }

    /// The rows of a queue that have failed for good, by key.
    package func deadRows(ofQueue name: String) async throws -> [DeadLetter] {
        try await deadLetters(ofSpace: QueueClaim.deadSpace(name))
    }

    /// Makes a dead row of a queue due again, as if it had never been tried.
    ///
    /// - Returns: false if it is not dead.
    package func retryDeadRow(_ object: Identity, ofQueue name: String) async throws -> Bool {
        try await settle(object, inSpace: QueueClaim.deadSpace(name), JobWrite.retrying)
    }

    /// Has nobody told of a dead row of a queue any more.
    ///
    /// - Returns: false if it is not dead, or was discarded before.
    package func discardDeadRow(_ object: Identity, ofQueue name: String) async throws -> Bool {
        let space = QueueClaim.deadSpace(name)
        guard let letter = try await record(DeadLetterRecord.key(object, in: space)) else { return false }
        return try await apply(JobWrite.discarding(letter)).first ?? false
    }

    /// Has a consumer handle an object once more that it has given up.
    ///
    /// - Returns: false if it has not.
    package func retryDeadLetter(_ object: Identity, ofConsumer name: String) async throws -> Bool {
        try await settle(object, inSpace: ConsumerState.deadSpace(name), JobWrite.retrying)
    }

    /// Forgets that a consumer has given up an object.
    ///
    /// - Returns: false if it has not.
    package func discardDeadLetter(_ object: Identity, ofConsumer name: String) async throws -> Bool {
        try await settle(object, inSpace: ConsumerState.deadSpace(name), JobWrite.discarding)
    }

    private func settle(
        _ object: Identity, inSpace space: String, _ writes: (JobRecord) -> [JobWrite]
    ) async throws -> Bool {
        for key in DeadLetterRecord.keys(object, inSpace: space) {
            guard let letter = try await record(key) else { continue }
            return try await apply(writes(letter)).first ?? false
        }
        return false
    }
}
