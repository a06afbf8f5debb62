public import FoundationEssentials
public import Sluice
internal import SluiceModel
internal import SluiceServer
internal import SluiceStorage

/// One run of something that is done again and again.
public struct ScheduledRun: Sendable {
    /// The time for which the run is, which may be long ago.
    public let time: Date
    private let due: Timestamp
    private let last: Timestamp
    private let schedule: ScheduleDesk

    /// - Parameter last: the run that was done before.
    init(_ due: Timestamp, after last: Timestamp, _ schedule: ScheduleDesk) {
        time = due.date
        self.due = due
        self.last = last
        self.schedule = schedule
    }

    /// Writes what follows from the run, and that it was done, in one transaction: both or neither.
    ///
    /// - Throws: what `body` throws; `JobError/Code/superseded` if the run was done before, by another process;
    ///   `ServerError` when the database cannot be written.
    @discardableResult
    public func commit<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result { try await schedule.finish(due, after: last, body) }
}

/// Which of the runs are done that were missed while nobody was there to do them.
public enum MissedRuns: Sendable {
    /// The last one.
    case latest
    /// Each, in their order; of more than 1,000 the last 1,000.
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
    /// returns, and effects elsewhere happen at least once. A run that throws is tried again after a while. So is one
    /// whose database cannot be used for a while, which the log says.
    ///
    /// - Parameters:
    ///   - period: when it is done; for the first time after this is first called with the name.
    ///   - name: names what is done among the schedules of the database.
    ///   - missed: which of the runs are done that were missed.
    ///   - backoff: how long to wait before a run is tried again.
    ///   - body: does one run.
    /// - Throws: `JobError` for a name that cannot be one; `ServerError` when the database cannot be used any more.
    public func every(
        _ period: SchedulePeriod, named name: String, missed: MissedRuns = .latest,
        backoff: Backoff = .exponential(.seconds(1), max: .seconds(300)),
        _ body: @escaping @Sendable (ScheduledRun) async throws -> Void
    ) async throws {
        try JobError.check(name: name, of: "schedule")
        do {
            try await alone(ScheduleDesk.prefix + name) { lease in
                try await ScheduleDesk(lease.database.host, name, period).run(missed, backoff, body)
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

    /// Forgets when a schedule was done last. A process that has it goes on as if it began now; one that begins under the
    /// name later does no run that was missed.
    ///
    /// - Throws: `JobError` for a name that cannot be one; `ServerError` when the database cannot be written.
    public func removeSchedule(_ name: String) async throws {
        try JobError.check(name: name, of: "schedule")
        _ = try await host.apply([JobWrite(.init(space: ScheduleDesk.prefix + name), .remove)])
    }
}
