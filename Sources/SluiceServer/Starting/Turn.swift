/// How much queries may still do before the database turns to what has come in meanwhile.
///
/// A session that asks much is cut short before the others are: it has a share of the turn.
struct Turn {
    /// What is left for everybody, in steps.
    private(set) var stepCountLeft: Int
    private let shareMax: Int
    private var spent: [SessionID: Int] = [:]

    /// - Parameters:
    ///   - stepCountMax: for all sessions together.
    ///   - shareMax: for one session.
    init(stepCountMax: Int, shareMax: Int) {
        stepCountLeft = stepCountMax
        self.shareMax = shareMax
    }

    /// How many steps may be done for a session; 0 if it has to wait for the next turn.
    func allowance(of session: SessionID) -> Int {
        max(0, min(shareMax - spent[session, default: 0], stepCountLeft))
    }

    mutating func note(_ stepCount: Int, for session: SessionID) {
        spent[session, default: 0] += stepCount
        stepCountLeft -= stepCount
    }
}
