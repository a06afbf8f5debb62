public import FoundationEssentials
public import Sluice
internal import SluiceModel
internal import SluiceServer
internal import SluiceStorage
internal import SluiceWire

/// One run of something that is done again and again.
public struct ScheduledRun: Sendable {
    /// The time for which the run is, which may be long ago.
    public let time: Date
    private let schedule: ScheduleDesk

    init(_ time: Timestamp, _ schedule: ScheduleDesk) {
        self.time = time.date
        self.schedule = schedule
    }

    /// Writes what follows from the run, and that it was done, in one transaction: both or neither.
    ///
    /// - Throws: what `body` throws; `JobError/Code/superseded` if the run was done before, by another process;
    ///   `ServerError` when the database cannot be written.
    @discardableResult
    public func commit<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result { try await schedule.finish(Timestamp(time), body) }
}

/// Which of the runs are done that were missed while nobody was there to do them.
public enum MissedRuns: Sendable {
    /// The last one.
    case latest
    /// Each, in their order.
    case all
}

extension ServerDatabase {
    /// Does something again and again, until the task is cancelled. When it was done last is kept in the database under
    /// the name, so that no run is done twice and none is forgotten, also by several servers of a cluster: one of them
    /// does each run, see ``alone(_:_:)``.
    ///
    /// ```swift
    /// try await shop.every(.daily(at: 4), named: "sweep") { run in
    ///     try await run.commit { transaction in
    ///         let abandoned = transaction.objects(Cart.self).where { $0.isAbandoned }
    ///         try transaction.delete(all: abandoned)
    ///     }
    /// }
    /// ```
    ///
    /// What ``ScheduledRun/commit(_:)`` writes is written exactly once. Without it, a run counts as done when `body`
    /// returns, and effects elsewhere happen at least once. A run that throws is tried again after a while.
    ///
    /// - Parameters:
    ///   - period: when it is done; for the first time after this is first called with the name.
    ///   - name: names what is done among the schedules of the database.
    ///   - missed: which of the runs are done that were missed.
    ///   - backoff: how long to wait before a run is tried again.
    ///   - body: does one run.
    /// - Throws: `JobError` for a name that cannot be one; `ServerError` when the database cannot be used.
    public func every(
        _ period: SchedulePeriod, named name: String, missed: MissedRuns = .latest,
        backoff: Backoff = .exponential(.seconds(1), max: .seconds(300)),
        _ body: @escaping @Sendable (ScheduledRun) async throws -> Void
    ) async throws {
        try JobError.check(name: name, of: "schedule")
        do {
            try await alone(ScheduleDesk.prefix + name) { lease in
                try await ScheduleDesk(lease.database, name, period).run(missed, backoff, body)
            }
        } catch is CancellationError where Task.isCancelled {}
    }
}

/// What is done again and again.
public struct ScheduleStatus: Sendable, Hashable {
    /// The schedule's name.
    public let name: String
    /// The time of the last run that was done; before the first, when the schedule began.
    public let lastRun: Date
}

extension ServerDatabase {
    /// The schedules of the database, by name.
    ///
    /// - Throws: `ServerError` when the database cannot be used.
    public func schedules() async throws -> [ScheduleStatus] {
        try await access.jobs { records, _ in
            try records.jobSpaces(withPrefix: ScheduleDesk.prefix).compactMap { space in
                try records.job(.init(space: space)).map { record in
                    ScheduleStatus(
                        name: String(space.dropFirst(ScheduleDesk.prefix.count)),
                        lastRun: try ScheduleDesk.time(record).date)
                }
            }
        }
    }
}

/// Finds when a schedule is due, and stores what was done.
struct ScheduleDesk: Sendable {
    private let database: ServerDatabase
    private let name: String
    private let period: SchedulePeriod

    init(_ database: ServerDatabase, _ name: String, _ period: SchedulePeriod) {
        self.database = database
        self.name = name
        self.period = period
    }

    static let prefix = "schedule/"

    private var key: JobRecord.Key { .init(space: Self.prefix + name) }

    func run(
        _ missed: MissedRuns, _ backoff: Backoff, _ body: @Sendable (ScheduledRun) async throws -> Void
    ) async throws {
        var failureCount = 0
        while !Task.isCancelled {
            let now = database.access.time
            let last = try await last(orBegin: now)
            var due = period.next(after: last)
            guard due <= now else {
                await database.access.sleep(until: due)
                continue
            }
            if case .latest = missed { due = period.latest(upTo: now) }
            do {
                try await body(ScheduledRun(due, self))
                if try await self.last(orBegin: now) < due { try await finish(due) { _ in } }
                failureCount = 0
            } catch {
                if Task.isCancelled { return }
                if database.host.meaning(of: error) == .lasting { throw error }
                failureCount += 1
                database.access.note(
                    .warning, "a scheduled run has failed and will be tried again",
                    [("schedule", name), ("error", "\(error)")])
                let wait = backoff.wait(afterFailures: failureCount, chance: .random(in: 0...1))
                await database.access.sleep(until: database.access.time.advanced(by: wait))
            }
        }
    }

    /// When the schedule was done last; when it was first asked for if it never was.
    private func last(orBegin now: Timestamp) async throws -> Timestamp {
        let key = key
        return try await database.writeJobs { records in
            if let record = try records.job(key) { return (try Self.time(record), []) }
            return (now, [.set(Self.record(key, now))])
        }
    }

    /// Stores that a run was done, with what follows from it.
    func finish<Result: Sendable>(
        _ time: Timestamp, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let (key, name) = (key, name)
        return try await database.write { records, _ in
            if let record = try records.job(key), try Self.time(record) >= time {
                throw JobError(
                    .superseded, "the run of the schedule '\(name)' for \(time) is done already: nothing was written")
            }
            return [.set(Self.record(key, time))]
        } _: { transaction in
            try body(transaction)
        }
    }

    private static func record(_ key: JobRecord.Key, _ time: Timestamp) -> JobRecord {
        JobRecord(key, value: Value.date(time).wireBytes())
    }

    static func time(_ record: JobRecord) throws -> Timestamp {
        guard case .date(let time) = try Value(wireBytes: record.value) else {
            throw JobError(.newerFormat, "the schedule was stored by a newer version")
        }
        return time
    }
}
