internal import Dispatch
package import SluiceStorage
internal import Synchronization

/// Gives duties to tasks of this process: a task runs while this server has its duty, and is cancelled when it may have
/// lost it.
package final class DutyDesk: Sendable {
    private enum Ending<Result: Sendable>: Sendable {
        case returned(Result)
        case threw(any Error)
        /// The server may no longer have the duty.
        case lost
    }

    /// How often a server asks for a duty that another one has.
    package static let gainInterval = Duration.seconds(2)
    /// How soon a renewal is tried again that had no answer.
    private static let retryInterval = Duration.seconds(1)

    private let service: any DutyService
    private let log: LogSink?
    private let schedule: Schedule
    private let gate = DutyGate()
    private let queue = DispatchQueue(label: "sluice.duties", qos: .userInitiated, attributes: .concurrent)
    private let isStopped = Atomic(false)
    /// How many loops ask the service or are about to, and do not wait for a time.
    private let busyCount = Atomic(0)

    /// - Parameter schedule: calls back after a time.
    init(_ service: any DutyService, log: LogSink?, schedule: @escaping Schedule) {
        self.service = service
        self.log = log
        self.schedule = schedule
    }

    /// Runs a task while this server has a duty, once it has it. If the server may have lost it, the task is cancelled,
    /// and runs again from the beginning when the server has the duty again.
    ///
    /// - Parameter body: is given the duty, by which its writes are checked.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws while the server has the duty; ``ServerError`` when the server is stopped or refused;
    ///   `CancellationError`.
    package func alone<Result: Sendable>(
        _ duty: Duty, _ body: @escaping @Sendable (HeldDuty) async throws -> Result
    ) async throws -> Result {
        try await gate.enter(duty)
        defer { gate.leave(duty) }
        while true {
            let held = try await asking { try await gain(duty) }
            let ending = await run(held, body)
            await asking { await ask { [service] in service.giveUp(held) } }
            switch ending {
            case .returned(let result): return result
            case .threw(let error): throw error
            case .lost:
                log?(
                    .warning, "a duty was lost; its work begins again when this server has it again",
                    [("database", duty.database), ("duty", duty.name)])
            }
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Whether nothing happens before a time comes, but for the tasks.
    var isQuiet: Bool { busyCount.load(ordering: .sequentiallyConsistent) == 0 }

    /// Runs a loop that asks the service, and waits in between.
    private func asking<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        busyCount.add(1, ordering: .sequentiallyConsistent)
        defer { busyCount.subtract(1, ordering: .sequentiallyConsistent) }
        return try await body()
    }

    /// Asks for a duty until the server has it.
    private func gain(_ duty: Duty) async throws -> HeldDuty {
        while true {
            try Task.checkCancellation()
            guard !isStopped.load(ordering: .relaxed) else { throw ServerError(.stopped, "the server was stopped") }
            do {
                if let held = try await ask({ [service] in Swift.Result { try service.take(duty) } }).get() {
                    return held
                }
            } catch let error as StorageError where error.isSilence {
                // Nobody can have it for long now.
            } catch {
                throw ServerError(
                    .database,
                    "the duty '\(duty.name)' cannot be had: \((error as? StorageError)?.message ?? "\(error)")",
                    cause: error)
            }
            await pause(Self.gainInterval)
        }
    }

    private func run<Result: Sendable>(
        _ held: HeldDuty, _ body: @escaping @Sendable (HeldDuty) async throws -> Result
    ) async -> Ending<Result> {
        await withTaskGroup(of: Ending<Result>.self) { group in
            group.addTask {
                do { return .returned(try await body(held)) } catch {
                    return (error as? ServerError)?.code == .dutyLost ? .lost : .threw(error)
                }
            }
            group.addTask {
                await self.asking { await self.renew(held) }
                return .lost
            }
            guard let first = await group.next() else { return .lost }
            group.cancelAll()
            guard let second = await group.next() else { return first }
            // The end of the task counts. Where it was cancelled because the duty was lost, that does.
            switch (first, second) {
            case (.lost, .returned(let result)): return .returned(result)
            case (.lost, _) where Task.isCancelled: return .threw(CancellationError())
            default: return first
            }
        }
    }

    /// Renews a duty until it may be lost, or the task is cancelled.
    private func renew(_ held: HeldDuty) async {
        var interval = DutyRenewal.interval
        while true {
            await pause(interval)
            if Task.isCancelled || isStopped.load(ordering: .relaxed) { return }
            let answer = await ask { [service] in Swift.Result { try service.renew(held) } }
            switch answer {
            case .success(let isRenewed):
                guard isRenewed else { return }
                interval = DutyRenewal.interval
            case .failure:
                guard held.isHeld else { return }
                interval = Self.retryInterval
            }
        }
    }

    /// Asks the service on a thread that may block.
    private func ask<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
    }

    /// Waits for a time, or until the task is cancelled.
    private func pause(_ duration: Duration) async {
        let pause = Pause { [self] in busyCount.add(1, ordering: .sequentiallyConsistent) }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                pause.begin(continuation)
                schedule(duration) { pause.end() }
                busyCount.subtract(1, ordering: .sequentiallyConsistent)
            }
        } onCancel: {
            pause.end()
        }
    }
}

/// A wait that ends once, whoever ends it first.
private final class Pause: Sendable {
    private enum State: Sendable {
        case new
        case waiting(CheckedContinuation<Void, Never>)
        case ended
    }

    private let state = Mutex(State.new)
    private let onEnd: @Sendable () -> Void

    /// - Parameter onEnd: called once, before anybody goes on.
    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    func begin(_ continuation: CheckedContinuation<Void, Never>) {
        let isEnded = state.withLock { state in
            if case .ended = state { return true }
            state = .waiting(continuation)
            return false
        }
        if isEnded { continuation.resume() }
    }

    func end() {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            defer { state = .ended }
            switch state {
            case .new: return (true, nil)
            case .waiting(let continuation): return (true, continuation)
            case .ended: return (false, nil)
            }
        }
        if isFirst { onEnd() }
        waiting?.resume()
    }
}
