internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews

/// Whose digest is sent next to those who follow it, in running sessions.
///
/// One view at a time, at most one a second, and each view once a round, which takes a minute at least: so the check costs
/// a database about the reading of a few thousand rows a second and a client that of each of its subscriptions a minute,
/// whatever happens, while a divergence is found within minutes of when it happened.
struct DigestRounds {
    /// A digest that is being made over several turns.
    struct Scan {
        let view: ObjectID
        /// The state of the view that the digest is of.
        let changeCount: Int
        /// Up to where the roots are in it; nil before the first.
        var cursor: RowCursor?
        var digest: ViewDigest
    }

    /// Rows that one turn adds to a digest.
    static let pageRowCount = 500

    /// In microseconds.
    private let interval: Int64
    private let roundTime: Int64
    private var scan: Scan?
    /// The views whose turn is in this round, the next one last.
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

    /// The view whose turn it is; nil if it is none's now.
    ///
    /// - Parameter views: the views that followers have all of.
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
