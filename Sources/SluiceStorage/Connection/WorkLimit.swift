internal import CSQLite

/// How much a reader may do, in steps of SQLite's virtual machine, and whether anybody waits for it still.
///
/// A statement that goes beyond fails with ``StorageError/Code/interrupted``, one that nobody waits for with
/// ``StorageError/Code/cancelled``. A core does about 10 to 50 million steps a
/// second.
package final class WorkLimit {
    /// How many steps are done between two looks.
    static let interval: Int32 = 50_000

    private var stepsLeft: Int
    private let isCancelled: () -> Bool
    /// Why a statement was stopped.
    fileprivate private(set) var outcome: StorageError.Code?

    /// - Parameter isCancelled: asked about a thousand times a second.
    package init(stepCountMax: Int, isCancelled: @escaping () -> Bool = { false }) {
        stepsLeft = stepCountMax
        self.isCancelled = isCancelled
    }

    /// Whether the statement that has done another ``interval`` of steps must stop.
    fileprivate func mustStop() -> Bool {
        stepsLeft -= Int(Self.interval)
        if stepsLeft < 0 {
            outcome = .interrupted
        } else if isCancelled() {
            outcome = .cancelled
        }
        return outcome != nil
    }
}

extension SQLiteConnection {
    /// Runs `body`, whose statements share a limit. Not within another limit.
    func withWorkLimit<Result>(_ limit: WorkLimit, _ body: () throws -> Result) throws -> Result {
        sqlite3_progress_handler(
            handle, WorkLimit.interval,
            { context in
                guard let context else { return 0 }
                return Unmanaged<WorkLimit>.fromOpaque(context).takeUnretainedValue().mustStop() ? 1 : 0
            }, Unmanaged.passUnretained(limit).toOpaque())
        defer { sqlite3_progress_handler(handle, 0, nil, nil) }
        return try withExtendedLifetime(limit) {
            do {
                return try body()
            } catch let error as StorageError where error.code == .interrupted {
                let isCancelled = limit.outcome == .cancelled
                let reason = isCancelled ? "nobody waits for it any more" : "it takes more work than is allowed"
                throw StorageError(
                    isCancelled ? .cancelled : .interrupted, "\(name): a query was stopped: \(reason)",
                    sqliteCode: error.sqliteCode)
            }
        }
    }
}
