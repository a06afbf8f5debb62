internal import CSQLite
internal import SluiceQuery

/// How much the reads of one query may do, in steps, and whether anybody waits for them still.
///
/// A step is one of SQLite's virtual machine. What SQLite does not count itself is charged in the same measure:
/// functions that it calls, and conditions that are judged outside of it. A statement that goes beyond the limit fails
/// with ``StorageError/Code/interrupted``, one that nobody waits for with ``StorageError/Code/cancelled``. A core does
/// about 10 to 50 million steps a second.
package final class WorkLimit {
    /// How many steps are done between two looks.
    let interval: Int32

    /// How many steps were done so far: exact to ``interval``.
    package private(set) var stepCount = 0
    private let stepCountMax: Int
    private let isCancelled: () -> Bool
    /// The limit of an attempt; see ``attempting(_:_:)``.
    private var attemptMax = Int.max
    /// Why a statement was stopped.
    private var outcome: Outcome?

    private enum Outcome {
        case limitReached
        case attemptEnded
        case cancelled
    }

    /// - Parameters:
    ///   - interval: how exactly to count.
    ///   - isCancelled: asked some thousand times a second.
    package init(stepCountMax: Int, interval: Int = 10_000, isCancelled: @escaping () -> Bool = { false }) {
        self.stepCountMax = stepCountMax
        self.isCancelled = isCancelled
        self.interval = Int32(clamping: max(20, min(interval, stepCountMax / 16)))
    }

    /// Takes note of work that was done.
    ///
    /// - Returns: whether the statement that did it must stop.
    func charge(_ stepCount: Int) -> Bool {
        self.stepCount += stepCount
        if self.stepCount > stepCountMax {
            outcome = .limitReached
        } else if self.stepCount > attemptMax {
            outcome = .attemptEnded
        } else if isCancelled() {
            outcome = .cancelled
        }
        return outcome != nil
    }

    /// Runs `body` with a narrower limit within this one.
    ///
    /// - Parameter stepCountMax: how many steps `body` may do.
    /// - Returns: what `body` returns; nil if it was stopped because of the narrower limit.
    package func attempting<Result>(_ stepCountMax: Int, _ body: () throws -> Result) throws -> Result? {
        attemptMax = stepCount + stepCountMax
        defer { attemptMax = .max }
        do {
            return try body()
        } catch let error as StorageError where error.code == .interrupted {
            guard case .attemptEnded? = outcome else { throw error }
            outcome = nil
            return nil
        }
    }

    /// The error that tells why a statement was stopped.
    fileprivate func error(_ error: StorageError, name: String) -> StorageError {
        if case .cancelled? = outcome {
            return StorageError(
                .cancelled, "\(name): a query was stopped: nobody waits for it any more", sqliteCode: error.sqliteCode)
        }
        return StorageError(
            .interrupted, "\(name): a query was stopped: it takes more work than is allowed",
            sqliteCode: error.sqliteCode)
    }
}

extension SQLiteConnection {
    /// Runs `body`, whose statements share a limit. Not within another limit.
    func withWorkLimit<Result>(_ limit: WorkLimit, _ body: () throws -> Result) throws -> Result {
        enforce(limit)
        evaluationMemo = EvaluationMemo()
        defer {
            workLimit = nil
            evaluationMemo = nil
            sqlite3_progress_handler(handle, 0, nil, nil)
        }
        do {
            return try body()
        } catch let error as StorageError where error.code == .interrupted {
            throw limit.error(error, name: name)
        }
    }

    private func enforce(_ limit: WorkLimit) {
        // Keeps the limit for as long as the handler is set, which does not.
        workLimit = limit
        sqlite3_progress_handler(
            handle, limit.interval,
            { context in
                guard let context else { return 0 }
                let limit = Unmanaged<WorkLimit>.fromOpaque(context).takeUnretainedValue()
                return limit.charge(Int(limit.interval)) ? 1 : 0
            }, Unmanaged.passUnretained(limit).toOpaque())
    }

    /// Runs `body` without the limit that is in force: for work that is done once, whoever asks for it.
    func withoutWorkLimit<Result>(_ body: () throws -> Result) throws -> Result {
        guard let limit = workLimit else { return try body() }
        workLimit = nil
        sqlite3_progress_handler(handle, 0, nil, nil)
        defer { enforce(limit) }
        return try body()
    }

    /// Charges work that SQLite does not count itself, where there is a limit.
    func charge(_ stepCount: Int) throws(StorageError) {
        guard let workLimit, workLimit.charge(stepCount) else { return }
        throw StorageError(.interrupted, "\(name): a query was stopped")
    }
}
