internal import FoundationEssentials
internal import Sluice
internal import SluiceModel
internal import SluiceQuery
internal import SluiceServer
internal import SluiceStorage
internal import SluiceWire
internal import Synchronization

/// Claims rows of a queue for the workers of one run, extends their leases, and ends claims.
final class ClaimDesk: Sendable {
    /// What is known of a row besides that it matches.
    struct Judgement: Sendable {
        var partition: String?
        var notBefore: Timestamp?
    }

    /// Says what is known of a row.
    typealias Judge = @Sendable (Row, Int, Schema) throws -> Judgement

    /// A claimed row.
    struct Claimed: Sendable {
        let row: Row
        let classIndex: Int
        let schema: Schema
        let attempt: Int
        let key: JobRecord.Key
        var identity: Identity { Identity(className: schema[classIndex].name, key: row.key) }
    }

    private struct State {
        var held: [JobRecord.Key: Claimed] = [:]
        /// When a row that is not due yet will be; nil if none waits.
        var next: Timestamp?
    }

    private let database: ServerDatabase
    private let name: String
    private let lease: Duration
    private let attempts: Int
    private let backoff: Backoff
    private let query: @Sendable (Schema) throws -> Query
    private let holder = UInt64.random(in: 1 ... .max)
    private let arrivals: Arrivals
    private let state = Mutex(State())
    /// How many rows are looked at first, to find some that are free.
    private static let rowCountMin = 64

    init(
        _ database: ServerDatabase, _ name: String, lease: Duration, attempts: Int, _ backoff: Backoff,
        _ query: @escaping @Sendable (Schema) throws -> Query
    ) {
        self.database = database
        self.name = name
        self.lease = max(lease, .milliseconds(10))
        self.attempts = max(1, attempts)
        self.backoff = backoff
        self.query = query
        arrivals = Arrivals(database.access)
    }

    // MARK: Claiming

    /// Claims rows that are due, in the order of the query.
    ///
    /// - Parameter count: at most how many.
    func claim(
        _ count: Int, _ judge: Judge?
    ) async throws -> [Claimed] {
        guard count > 0 else { return [] }
        try await database.access.bringTime(for: query)
        var lookedAt = max(Self.rowCountMin, 2 * count)
        while true {
            let found = try await candidates(lookedAt)
            let (claimed, next) = try await claim(count, among: found, judge)
            state.withLock { state in
                state.next = next
                for claim in claimed { state.held[claim.key] = claim }
            }
            // Behind rows that others hold, or that are dead, there may be free ones.
            guard claimed.isEmpty, found.count == lookedAt else { return claimed }
            lookedAt *= 4
        }
    }

    /// The first rows of the query, whoever holds them.
    private func candidates(_ count: Int) async throws -> [ObjectRef] {
        let query = query
        return try await database.access.query { objects in
            let query = try query(objects.schema)
            guard query.object == nil, !query.isPartial else {
                return Array(try objects.refs(matching: query).prefix(count))
            }
            var found: [ObjectRef] = []
            try objects.rows(matching: query, after: nil, limit: count) { row in
                found.append(ObjectRef(query.classIndex, row.key))
                return true
            }
            return found
        }
    }

    private func claim(
        _ count: Int, among candidates: [ObjectRef],
        _ judge: Judge?
    ) async throws -> (claimed: [Claimed], next: Timestamp?) {
        let now = database.access.time
        let (query, name, holder) = (query, name, holder)
        let until = now.advanced(by: lease)
        return try await database.writeJobs { storage in
            let schema = storage.schema
            let query = try query(schema)
            let evaluator = Evaluator(query, schema: schema)
            let (space, deadSpace) = (QueueClaim.space(name), QueueClaim.deadSpace(name))
            var next = try storage.nextDue(ofSpace: space)
            var busy = judge == nil ? [] : try Self.busyPartitions(of: space, at: now, in: storage)
            var claimed: [Claimed] = []
            var jobs: [JobChange] = []
            for object in candidates where claimed.count < count {
                guard let row = try storage.row(object), try evaluator.matches(row, in: storage) else { continue }
                let identity = Identity(className: schema[object.classIndex].name, key: object.key)
                let key = DeadLetterRecord.key(identity, in: space)
                let deadKey = JobRecord.Key(space: deadSpace, name: key.name)
                let record = try storage.job(key)
                if let due = record?.due, due > now { continue }
                let dead = try storage.job(deadKey)
                if let dead, try DeadLetterRecord(wireBytes: dead.value).version == row.version { continue }
                let judgement = try judge?(row, object.classIndex, schema) ?? Judgement()
                if let notBefore = judgement.notBefore, notBefore > now {
                    next = min(next ?? notBefore, notBefore)
                    continue
                }
                if let partition = judgement.partition, !busy.insert(partition).inserted { continue }
                let before = try record.map { try QueueClaim(wireBytes: $0.value).attemptCount } ?? 0
                let claim = QueueClaim(holder: holder, attemptCount: before + 1, partition: judgement.partition)
                jobs.append(.set(JobRecord(key, due: until, value: claim.wireBytes())))
                if dead != nil { jobs.append(.remove(deadKey)) }
                claimed.append(
                    Claimed(
                        row: row, classIndex: object.classIndex, schema: schema, attempt: Int(before) + 1, key: key))
            }
            return ((claimed, next), jobs)
        }
    }

    /// The partitions that are worked at.
    private static func busyPartitions(
        of space: String, at now: Timestamp, in records: any JobRecords
    ) throws -> Set<String> {
        var busy: Set<String> = []
        var last: [UInt8]?
        while true {
            let found = try records.jobs(ofSpace: space, after: last, countMax: 1_000)
            for record in found {
                let claim = try QueueClaim(wireBytes: record.value)
                if claim.holder != 0, let due = record.due, due > now, let partition = claim.partition {
                    busy.insert(partition)
                }
            }
            guard found.count == 1_000, let record = found.last else { return busy }
            last = record.key.name
        }
    }

    /// Waits until something was committed, or a row may be due by the clock, or the task is cancelled.
    func waitForWork() async {
        let next = state.withLock { $0.next }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [arrivals] in await arrivals.next() }
            if let next { group.addTask { [database] in await database.access.sleep(until: next) } }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: Holding

    /// Extends the leases of what is held until the task is cancelled.
    func keepLeases() async {
        while !Task.isCancelled {
            await database.access.sleep(until: database.access.time.advanced(by: lease / 3))
            if Task.isCancelled { return }
            do { try await extendLeases() } catch {
                database.access.note(
                    .warning, "leases of a queue could not be extended", [("queue", name), ("error", "\(error)")])
            }
        }
    }

    private func extendLeases() async throws {
        let keys = state.withLock { Array($0.held.keys) }
        guard !keys.isEmpty else { return }
        let until = database.access.time.advanced(by: lease)
        let holder = holder
        try await database.writeJobs { records in
            let jobs = try keys.compactMap { key -> JobChange? in
                guard let record = try records.job(key), try QueueClaim(wireBytes: record.value).holder == holder else {
                    return nil
                }
                return .set(JobRecord(key, due: until, value: record.value))
            }
            return ((), jobs)
        }
    }

    // MARK: Ending

    /// Writes what follows from a row, and ends its claim.
    ///
    /// - Throws: what `completion` throws; ``JobError/Code/leaseLost`` if another worker may have the row;
    ///   ``JobError/Code/notCommitted`` if the row still matches.
    func complete(
        _ claimed: Claimed, _ completion: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
    ) async throws {
        let (query, holder, name) = (query, holder, name)
        try await database.write { records, objects in
            guard let record = try records.job(claimed.key),
                case let claim = try QueueClaim(wireBytes: record.value), claim.holder == holder,
                claim.attemptCount == UInt64(claimed.attempt)
            else {
                throw JobError(
                    .leaseLost,
                    "the lease of \(claimed.identity.className) in the queue '\(name)' has ended, and another worker may "
                        + "have the row: nothing was written")
            }
            let source = try objects.reader
            if let row = try objects.row(ObjectRef(claimed.classIndex, claimed.row.key)),
                try Evaluator(query(source.schema), schema: source.schema).matches(row, in: source)
            {
                throw JobError(
                    .notCommitted,
                    "a worker of the queue '\(name)' has finished a row that still matches: what it returns must change "
                        + "the row so that the query no longer finds it, or delete it")
            }
            return [.remove(claimed.key)]
        } _: { transaction in
            try completion(transaction)
        }
        state.withLock { _ = $0.held.removeValue(forKey: claimed.key) }
    }

    /// Lets go of a row that has failed, until it is tried again; or for good.
    func fail(_ claimed: Claimed, _ error: any Error) async {
        let isHeld = state.withLock { $0.held.removeValue(forKey: claimed.key) != nil }
        guard isHeld, (error as? JobError)?.code != .leaseLost else { return }
        let isCancelled = Task.isCancelled || error is CancellationError
        // The transaction must be written although the task was cancelled.
        await Task { [self] in
            do { try await store(claimed, error, isCancelled: isCancelled) } catch {
                database.access.note(
                    .warning, "a row of a queue could not be let go, and is due when its lease ends",
                    [("queue", name), ("error", "\(error)")])
            }
        }.value
    }

    private func store(_ claimed: Claimed, _ error: any Error, isCancelled: Bool) async throws {
        let now = database.access.time
        let (holder, name, attempts) = (holder, name, attempts)
        let wait = isCancelled ? .zero : backoff.wait(afterFailures: claimed.attempt, chance: .random(in: 0...1))
        let isDead = try await database.writeJobs { records in
            guard let record = try records.job(claimed.key),
                case var claim = try QueueClaim(wireBytes: record.value), claim.holder == holder
            else { return (false, []) }
            claim.holder = 0
            if isCancelled { claim.attemptCount -= 1 }
            guard claim.attemptCount >= attempts else {
                return (false, [.set(JobRecord(claimed.key, due: now.advanced(by: wait), value: claim.wireBytes()))])
            }
            let letter = DeadLetterRecord(
                error, attemptCount: claimed.attempt, time: now, version: claimed.row.version)
            let dead = JobRecord(
                .init(space: QueueClaim.deadSpace(name), name: claimed.key.name), value: letter.wireBytes())
            return (true, [.remove(claimed.key), .set(dead)])
        }
        guard isDead else { return }
        database.access.note(
            .error, "a queue has given up a row",
            [("queue", name), ("class", claimed.identity.className), ("error", "\(error)")])
    }
}
