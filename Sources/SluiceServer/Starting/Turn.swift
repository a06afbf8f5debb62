/// Counts the steps that queries may still take before the database handles the events that have arrived meanwhile.
///
/// Each session has a share of the turn, so that a session that asks much does not use up the turn of the others.
struct Turn {
    /// The steps that are left for all sessions together.
    private(set) var stepCountLeft: Int
    private let shareMax: Int
    private var spent: [SessionID: Int] = [:]

    /// - Parameters:
    ///   - stepCountMax: the maximum number of steps for all sessions together.
    ///   - shareMax: the maximum number of steps for one session.
    init(stepCountMax: Int, shareMax: Int) {
        stepCountLeft = stepCountMax
        self.shareMax = shareMax
    }

    /// How many more steps may be taken for a session; 0 if it has to wait for the next turn.
    func allowance(of session: SessionID) -> Int {
        max(0, min(shareMax - spent[session, default: 0], stepCountLeft))
    }

    mutating func note(_ stepCount: Int, for session: SessionID) {
        spent[session, default: 0] += stepCount
        stepCountLeft -= stepCount
    }
}
