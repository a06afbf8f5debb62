internal import SluiceStorage

/// Counts the steps that queries may still take before the database handles the events that have arrived meanwhile.
///
/// Each session has a share of the turn, so that a session that asks much does not use up the turn of the others.
final class Turn {
    private let database: Database
    /// The steps that are left for all sessions together.
    private(set) var stepCountLeft = 0
    private var spent: [SessionID: Int] = [:]

    init(_ database: Database) {
        self.database = database
        begin()
    }

    /// Begins a new turn.
    func begin() {
        stepCountLeft = database.limits.turnStepCountMax
        spent = [:]
    }

    /// How many more steps may be taken for a session; 0 if it has to wait for the next turn.
    func allowance(of session: SessionID) -> Int {
        max(0, min(database.limits.shareStepCountMax - spent[session, default: 0], stepCountLeft))
    }

    func note(_ stepCount: Int, for session: SessionID) {
        spent[session, default: 0] += stepCount
        stepCountLeft -= stepCount
    }

    /// Runs the work of a query, which is charged to the session for which it is done.
    ///
    /// - Parameter stepCountMax: the limit; nil for that of a query.
    /// - Throws: ``StorageError``; if only the query must end, one with ``StorageError/endsQueryAlone``.
    func charging<Result>(
        _ session: SessionID, stepCountMax: Int? = nil, _ body: (WorkLimit) throws -> Result
    ) throws -> Result {
        try database.limitingWork(for: session, stepCountMax: stepCountMax) { work in
            defer { note(work.stepCount, for: session) }
            return try body(work)
        }
    }

    /// Runs the work of a query within the steps that the session has left in the turn.
    ///
    /// - Returns: nil if the steps were not enough.
    func attempting<Result>(for session: SessionID, _ body: () throws -> Result) throws -> Result? {
        let allowance = allowance(of: session)
        guard allowance > 0 else { return nil }
        return try charging(session) { try $0.attempting(allowance, body) }
    }
}
