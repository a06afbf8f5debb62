internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews

/// Decides which view's digest is sent next to its subscribers in running sessions.
///
/// One view at a time is checked, at most one each second, and each view once in a round of at least a minute. So the
/// check costs a database about the reading of a few thousand rows a second, and a client the reading of one
/// subscription a minute, while a divergence is found within minutes.
struct DigestRounds {
    /// A digest that is being made over several turns.
    struct Scan {
        let view: ObjectID
        /// The state of the view to which the digest belongs.
        let changeCount: UInt32
        /// The place up to which the roots are in the digest; nil before the first.
        var cursor: RowCursor?
        var digest: ViewDigest
    }

    /// The number of rows that one turn adds to a digest.
    static let pageRowCount = 500

    /// The time between two digests, and between two rounds, in microseconds.
    private let interval: Int64
    private let roundTime: Int64
    private var scan: Scan?
    /// The views that are still due in this round, the next one last.
    private var waiting: [ObjectID] = []
    private var nextAt: Int64 = .min
    private var nextRoundAt: Int64 = .min

    init(interval: Int64, roundTime: Int64) {
        self.interval = interval
        self.roundTime = roundTime
    }

    var isScanning: Bool { scan != nil }

    mutating func takeScan() -> Scan? {
        defer { scan = nil }
        return scan
    }

    mutating func keep(_ scan: Scan) { self.scan = scan }

    mutating func abandon() { scan = nil }

    /// The view that is due now; nil if there is none.
    ///
    /// - Parameter views: returns the views that are complete for some subscription.
    mutating func next(now: Timestamp, _ views: () -> [ObjectID]) -> ObjectID? {
        guard now.microseconds >= nextAt else { return nil }
        if waiting.isEmpty {
            guard now.microseconds >= nextRoundAt else { return nil }
            nextRoundAt = now.microseconds + roundTime
            waiting = views()
        }
        nextAt = now.microseconds + interval
        return waiting.popLast()
    }
}
