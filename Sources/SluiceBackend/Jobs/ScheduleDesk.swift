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

    private var key: JobRecord.Key { .init(space: Self.prefix + name) }

    package func run(
        _ missed: MissedRuns, _ backoff: Backoff, _ body: @Sendable (ScheduledRun) async throws -> Void
    ) async throws {
        var failureCount = 0
        while !Task.isCancelled {
            let now = host.time
            let last: Timestamp
            do { last = try await self.last(orBegin: now) } catch {
                // The database can be used again some time.
                switch host.meaning(ofAny: error) {
                case .passing, .lasting: throw error
                case .obstructed, .outcomeUnknown: failureCount += 1
                }
                await host.sleep(until: host.time.advanced(by: wait(afterFailures: failureCount, backoff)))
                continue
            }
            var due = period.next(after: last)
            guard due <= now else {
                await host.sleep(until: due)
                continue
            }
            if case .latest = missed { due = period.latest(upTo: now) }
            do {
                try await body(ScheduledRun(due, after: last, self))
                if try await self.last(orBegin: now) < due { try await finish(due, after: last) { _ in } }
                failureCount = 0
            } catch {
                if Task.isCancelled { return }
                if host.meaning(of: error) == .lasting { throw error }
                failureCount += 1
                host.note(
                    .warning, "a scheduled run has failed and will be tried again",
                    [("schedule", name), ("error", "\(error)")])
                await host.sleep(until: host.time.advanced(by: wait(afterFailures: failureCount, backoff)))
            }
        }
    }

    private func wait(afterFailures count: Int, _ backoff: Backoff) -> Duration {
        backoff.wait(afterFailures: count, chance: .random(in: 0...1))
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
        do { return try await host.write([write], body) } catch is JobWriteRefusal {
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
