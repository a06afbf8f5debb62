package import Sluice
internal import SluiceModel
internal import SluiceWire

/// Finds when a schedule is due, and stores what was done.
package struct ScheduleDesk: Sendable {
    private let host: any JobHost
    private let name: String
    private let period: SchedulePeriod

    package init(_ host: any JobHost, _ name: String, _ period: SchedulePeriod) {
        self.host = host
        self.name = name
        self.period = period
    }

    static let prefix = "schedule/"
    /// The most runs that are made up for.
    static let missedCountMax = 1_000
    /// The longest wait in one piece: the clock may be set meanwhile.
    private static let longestWait = Duration.seconds(60)

    private var key: JobRecord.Key { .init(space: Self.prefix + name) }

    package func run(
        _ missed: MissedRuns, _ backoff: Backoff, _ body: @Sendable (ScheduledRun) async throws -> Void
    ) async throws {
        var failureCount = 0
        var obstruction = Obstruction(backoff)
        while !Task.isCancelled {
            var isBegun = false
            do {
                let now = host.time
                let last = try await self.last(orBegin: now)
                // A clock that was ahead may have stored a time that is to come: nothing would run until then. The next run
                // may be done already by a server whose clock is a little ahead.
                guard last <= period.next(after: now) else {
                    _ = try await host.apply([
                        JobWrite(key, .set(.never, value: Self.value(now)), if: .value(Self.value(last)))
                    ])
                    continue
                }
                var due = period.next(after: last)
                guard due <= now else {
                    obstruction.noteEnd()
                    await host.sleep(until: min(due, now.advanced(by: Self.longestWait)))
                    continue
                }
                switch missed {
                case .latest: due = period.latest(upTo: now)
                case .all: due = max(due, period.earliest(of: Self.missedCountMax, upTo: now))
                }
                isBegun = true
                try await body(ScheduledRun(due, after: last, self))
                if try await self.last(orBegin: now) == last { try await finish(due, after: last) { _ in } }
                failureCount = 0
                obstruction.noteEnd()
            } catch {
                if Task.isCancelled { return }
                // What could not be written is no failure of the run.
                if await obstruction.outlast(error, on: host) { continue }
                if !isBegun || host.meaning(of: error).endsJob { throw error }
                failureCount += 1
                host.note(
                    .warning, "a scheduled run has failed and will be tried again",
                    [("schedule", name), ("error", "\(error)")])
                let wait = backoff.wait(afterFailures: failureCount, chance: .random(in: 0...1))
                await host.sleep(until: host.time.advanced(by: wait))
            }
        }
    }

    /// When the schedule was done last; when it was first asked for if it never was.
    private func last(orBegin now: Timestamp) async throws -> Timestamp {
        while true {
            if let record = try await host.record(key) { return try Self.time(record) }
            let write = JobWrite(key, .set(.never, value: Self.value(now)), if: .absent)
            if try await host.apply([write]) == [true] { return now }
        }
    }

    /// Stores that a run was done, with what follows from it.
    ///
    /// - Parameter last: the run that was done before.
    func finish<Result: Sendable>(
        _ time: Timestamp, after last: Timestamp,
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Result
    ) async throws -> Result {
        let write = JobWrite(key, .set(.never, value: Self.value(time)), if: .value(Self.value(last)))
        do { return try await host.write([write], body) } catch is JobWriteRejection {
            throw JobError(
                .superseded, "the run of the schedule '\(name)' for \(time) is done already: nothing was written")
        }
    }

    private static func value(_ time: Timestamp) -> [UInt8] { Value.date(time).wireBytes() }

    static func time(_ record: JobRecord) throws -> Timestamp {
        guard case .date(let time) = try Value(wireBytes: record.value) else {
            throw JobError(.newerFormat, "the schedule was stored by a newer version")
        }
        return time
    }
}
