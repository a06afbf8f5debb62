internal import SluiceStorage

/// Counts the steps that queries may still take before the database handles the events that have arrived meanwhile.
///
/// Starting subscriptions and sending pages have turns of their own, so that neither uses up the other's. In each, a
/// user has a share, over all sessions; and the user who has had least comes first. Callers keep work that finds no steps
/// left for the next turn; work that exceeds a whole share runs beside the queue.
final class WorkBudget {
    /// What the steps of a turn are for.
    enum Phase {
        case starts, pages
    }

    private let database: Database
    private var phase = Phase.starts
    private var startsClock = FairClock()
    private var pagesClock = FairClock()
    /// The steps that are left for all together.
    private(set) var stepCountLeft = 0
    private var spent: [Holder: Int] = [:]

    init(_ database: Database) {
        self.database = database
        begin(.starts, isAwaited: false)
    }

    /// Begins a new turn.
    ///
    /// - Parameter isAwaited: whether somebody waits for it; if not, what each has had is forgotten.
    func begin(_ phase: Phase, isAwaited: Bool) {
        self.phase = phase
        stepCountLeft = database.limits.turnStepCountMax
        spent = [:]
        if isAwaited { clock.forgetEven() } else { clock.rest() }
    }

    /// Whose turn it is in the present phase.
    var clock: FairClock {
        get { phase == .starts ? startsClock : pagesClock }
        _modify { if phase == .starts { yield &startsClock } else { yield &pagesClock } }
    }

    /// How many more steps may be taken for a holder; 0 if it has to wait for the next turn.
    func allowance(of holder: Holder) -> Int {
        max(0, min(database.limits.shareStepCountMax - spent[holder, default: 0], stepCountLeft))
    }

    func note(_ stepCount: Int, for holder: Holder) {
        spent[holder, default: 0] += stepCount
        stepCountLeft -= stepCount
        clock.charge(stepCount, to: holder)
    }

    /// Charges what was read beside the writer for pages: it takes nothing of a turn, and others come first after it.
    func noteReading(_ stepCount: Int, for holder: Holder) {
        pagesClock.charge(stepCount, to: holder)
    }

    /// Runs the work of a query, which is charged to the holder of the session for which it is done.
    ///
    /// - Parameter stepCountMax: the limit; nil for that of a query.
    /// - Throws: ``StorageError``; if only the query must end, one with ``StorageError/endsQueryAlone``.
    func charging<Result>(
        _ subscriber: Subscriber, stepCountMax: Int? = nil, _ body: (WorkLimit) throws -> Result
    ) throws -> Result {
        try database.limitingWork(for: subscriber.session, stepCountMax: stepCountMax) { work in
            defer { note(work.stepCount, for: subscriber.holder) }
            return try body(work)
        }
    }

    /// Runs the work of a query within the steps that the session's holder has left in the turn.
    ///
    /// - Returns: nil if the steps were not enough.
    func attempting<Result>(for subscriber: Subscriber, _ body: () throws -> Result) throws -> Result? {
        let allowance = allowance(of: subscriber.holder)
        guard allowance > 0 else { return nil }
        return try charging(subscriber) { try $0.attempting(allowance, body) }
    }
}
