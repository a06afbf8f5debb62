public import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// What a database keeps of its consumers and queues, whoever runs them and wherever.
///
/// Everything throws ``SyncError`` where a store's server does not answer or its user may not run jobs, and `ServerError`
/// where a database of this process cannot be used.
public struct Jobs: Sendable {
    private let host: any JobHost

    package init(_ host: any JobHost) { self.host = host }

    // MARK: Consumers

    /// The consumers, by name. One that a newer version has stored is left out. O(consumers + dead letters).
    public func consumers() async throws -> [ConsumerStatus] {
        let version = try await host.version()
        let letterCounts = try await counts(ConsumerState.deadPrefix)
        var consumers: [ConsumerStatus] = []
        for name in try await counts(ConsumerState.prefix).keys.sorted() {
            guard let record = try await host.record(ConsumerState.key(name)),
                let state = try? record.decoded(as: ConsumerState.self)
            else { continue }
            consumers.append(
                ConsumerStatus(name, state, at: version, deadLetterCount: letterCounts[name, default: 0]))
        }
        return consumers
    }

    /// Removes what is kept of a consumer, its dead letters too. One that runs ends with ``JobError/Code/superseded``; one
    /// that begins under the name begins with all results.
    public func removeConsumer(_ name: String) async throws {
        try await remove([ConsumerState.deadSpace(name)], and: ConsumerState.key(name))
    }

    /// The objects that a consumer has given up, by key.
    public func deadLetters(ofConsumer name: String) async throws -> [DeadLetter] {
        try await letters(in: ConsumerState.deadSpace(name))
    }

    /// Has a consumer handle an object once more that it has given up. One that runs does it when it has nothing else to
    /// do, another one the next time that it runs.
    ///
    /// - Returns: false if the consumer has not given it up.
    @discardableResult
    public func retryDeadLetter(_ object: Identity, ofConsumer name: String) async throws -> Bool {
        try await settle(object, in: ConsumerState.deadSpace(name), isRetried: true)
    }

    /// Forgets that a consumer has given up an object.
    ///
    /// - Returns: false if the consumer has not given it up.
    @discardableResult
    public func discardDeadLetter(_ object: Identity, ofConsumer name: String) async throws -> Bool {
        try await settle(object, in: ConsumerState.deadSpace(name), isRetried: false)
    }

    // MARK: Queues

    /// The queues that have run, by name. O(results + claims + dead rows): the results of each are counted.
    public func queues() async throws -> [QueueStatus] {
        let (claims, dead) = (try await counts(QueueClaim.prefix), try await counts(QueueClaim.deadPrefix))
        let discarded = try await counts(QueueClaim.discardedPrefix)
        let names = Set(claims.keys).union(dead.keys).union(try await counts(QueueClaim.queryPrefix).keys)
        var queues: [QueueStatus] = []
        for name in names.sorted() {
            let record = try await host.record(QueueClaim.queryKey(name))
            let query = record.map { String(decoding: $0.value, as: UTF8.self) }
            let rows = try QueueClaims(
                claims[name] == nil ? [] : try await host.records(ofSpace: QueueClaim.space(name)))
            let deadCount = dead[name, default: 0]
            let taken = rows.heldCount + deadCount + discarded[name, default: 0]
            let waitingCount = try await resultCount(query).map { max(0, $0 - taken) }
            // The claim of a row stays that was changed meanwhile, so that the query no longer finds it.
            let retryCount = min(rows.waiting.count, waitingCount ?? .max)
            queues.append(
                QueueStatus(
                    name: name, query: query, waitingCount: waitingCount, retryCount: retryCount,
                    nextRetry: retryCount == 0 ? nil : rows.waiting.next?.date, claimCount: rows.heldCount,
                    deadCount: deadCount))
        }
        return queues
    }

    /// How many results a query has; nil if it is none of the database any more.
    private func resultCount(_ text: String?) async throws -> Int? {
        guard let text, (try? await host.text { try Query.parse(text, schema: $0) }) != nil else { return nil }
        return try await host.count { try Query.parse(text, schema: $0) }
    }

    /// Removes what is kept of a queue: its claims, so that rows at which somebody works are due again, and its dead rows,
    /// which are due again if they still match. It is listed again when a worker begins.
    public func removeQueue(_ name: String) async throws {
        let spaces = [
            QueueClaim.space(name), QueueClaim.partitionSpace(name), QueueClaim.deadSpace(name),
            QueueClaim.discardedSpace(name),
        ]
        try await remove(spaces, and: QueueClaim.queryKey(name))
    }

    /// The rows of a queue that have failed for good, by key; as ``WorkQueue/dead()``.
    public func deadRows(ofQueue name: String) async throws -> [DeadLetter] {
        try await letters(in: QueueClaim.deadSpace(name))
    }

    /// Makes a dead row of a queue due again, as if it had never been tried; as ``WorkQueue/retry(_:)``.
    ///
    /// - Returns: false if the row is not dead.
    @discardableResult
    public func retryDeadRow(_ object: Identity, ofQueue name: String) async throws -> Bool {
        try await settle(object, in: QueueClaim.deadSpace(name), isRetried: true)
    }

    /// Has nobody told of a dead row of a queue any more; as ``WorkQueue/discard(_:)``.
    ///
    /// - Returns: false if the row is not dead, or was discarded before.
    @discardableResult
    public func discardDeadRow(_ object: Identity, ofQueue name: String) async throws -> Bool {
        try await settle(object, in: QueueClaim.deadSpace(name), isRetried: false)
    }

    // MARK: Records

    /// How many records the spaces with a prefix have, by the rest of their names.
    private func counts(_ prefix: String) async throws -> [String: Int] {
        try await host.spaces(withPrefix: prefix).reduce(into: [:]) { counts, space in
            counts[String(space.name.dropFirst(prefix.count))] = space.count
        }
    }

    private func letters(in space: String) async throws -> [DeadLetter] {
        try await host.records(ofSpace: space).map { try DeadLetter($0) }
    }

    private func settle(_ object: Identity, in space: String, isRetried: Bool) async throws -> Bool {
        for key in DeadLetterRecord.keys(object, inSpace: space, isRetried: isRetried) {
            guard let letter = try await host.record(key) else { continue }
            return try await host.apply(JobWrite.settling(letter, isRetried: isRetried)).first ?? false
        }
        return false
    }

    /// Removes all records of spaces, and then one more.
    private func remove(_ spaces: [String], and key: JobRecord.Key) async throws {
        for space in spaces {
            _ = try await host.applyAll(host.records(ofSpace: space).map { JobWrite($0.key, .remove) })
        }
        _ = try await host.apply([JobWrite(key, .remove)])
    }
}
