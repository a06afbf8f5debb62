internal import SluiceModel
internal import SluiceWire

/// Which of the rows of a queue that are due are claimed next: those that are new, which nobody has claimed yet, or those
/// that come again, because they failed, were put off, or their worker died.
///
/// Each kind keeps the order of the query. Three claims of four prefer new rows, so that rows that fail, and are due again
/// and again, do not keep those behind them from being tried; the fourth takes the first rows of the order, whichever they
/// are, so that rows that come again have their turn however many new ones there are.
struct ClaimTurns: Sendable {
    private var claimCount = 0
    /// How many claims do not look for new rows, since the last search has found none among many.
    private var restCount = 0
    private static let period = 4
    /// For how many rows without a new one the search rests for one claim: as many as a claim looks at anyway.
    private static let rowCountOfClaim = 64

    /// Whether the next claim goes past rows that come again as long as there are new ones behind them.
    var prefersNew: Bool { restCount == 0 && claimCount % Self.period != Self.period - 1 }

    /// Notes that rows were claimed.
    mutating func noteClaim() {
        if restCount > 0 { restCount -= 1 } else { claimCount = (claimCount + 1) % Self.period }
    }

    /// Notes that all rows were looked at for new ones, and that others were claimed, since there were none. Without a rest
    /// each claim would look at all of them.
    mutating func noteNoNew(among rowCount: Int) {
        noteClaim()
        restCount = max(restCount, rowCount / Self.rowCountOfClaim)
    }
}

/// A row that is free.
struct ClaimCandidate {
    let claimed: ClaimedRow
    /// The claim of one whose lease has ended; nil if there is none.
    let former: JobRecord?
    /// Why another state of it was given up; nil if none was.
    let letter: JobRecord?

    /// Whether nobody has claimed it yet, or whoever has did not begin.
    var isNew: Bool { former == nil }
}

/// Rows that are to be claimed together.
struct ClaimChoice {
    private let countMax: Int
    private let againCountMax: Int
    private var againCount = 0
    private var partitions: Set<String> = []
    private var keys: Set<JobRecord.Key> = []
    private(set) var candidates: [ClaimCandidate] = []

    /// - Parameters:
    ///   - countMax: at most how many.
    ///   - againCountMax: at most how many of those that were claimed before.
    init(_ countMax: Int, again againCountMax: Int) {
        self.countMax = countMax
        self.againCountMax = againCountMax
    }

    /// Whether it has no room for any row.
    var isFull: Bool { candidates.count >= countMax || candidates.first?.claimed.isAlone == true }

    /// Adds a row if it may be worked at beside the others.
    mutating func add(_ candidate: ClaimCandidate) {
        guard !isFull, candidate.isNew || againCount < againCountMax else { return }
        // It is worked at alone when the others are done.
        if candidate.claimed.isAlone, !candidates.isEmpty { return }
        // It may be found once more where rows are looked at again.
        guard keys.insert(candidate.claimed.key).inserted else { return }
        if let partition = candidate.claimed.claim.partition, !partitions.insert(partition).inserted { return }
        if !candidate.isNew { againCount += 1 }
        candidates.append(candidate)
    }
}

/// What is found of the rows that were looked at.
struct ClaimFinding {
    private(set) var free: ClaimChoice
    /// Rows that come again, which are claimed if there are no new ones; nil if they are free as those.
    private(set) var againLater: ClaimChoice?
    /// Those that have used their attempts, with the claims of workers that have ended, or have failed.
    var fatal: [(claimed: ClaimedRow, former: JobRecord, error: any Error)] = []
    /// When the next one will be free; nil if none will be by the clock.
    private(set) var next: Timestamp?
    var waiting = WaitingTries()

    init(_ free: ClaimChoice, againLater: ClaimChoice?) {
        self.free = free
        self.againLater = againLater
    }

    /// Whether no further row is wanted.
    var isFull: Bool { free.isFull }

    mutating func add(_ candidate: ClaimCandidate) {
        if candidate.isNew || againLater == nil { free.add(candidate) } else { againLater?.add(candidate) }
    }

    /// Notes when a row will be free.
    mutating func note(next time: Timestamp?) { next = [next, time].compactMap(\.self).min() }
}

extension Timestamp {
    /// The time from here to a later point, or to an earlier one.
    func distance(to other: Timestamp) -> Duration {
        .microseconds(other.microseconds.subtractingReportingOverflow(microseconds).partialValue)
    }
}
