/// When to look whether a database that could not be written can be again.
///
/// Neither a look that finds room nor a small upload that is stored shows that the next upload fits: the disk may be
/// nearly full, or the file near its quota. Where one fails again after either, twice as many looks are left out before
/// the next, so that clients do not come again and again with what cannot be stored, and the log does not fill with it.
struct ProbeSchedule {
    /// The most looks that are left out: about five minutes' worth.
    static let skipMax = 150
    /// With so many looks more than were left out last, and no failure, the next failure counts as the first.
    private static let quietCount = 4

    /// How many looks to leave out.
    private var skipCount = 0
    /// How many were left out before the last recovery.
    private var lastSkipCount = 0
    private var hasRecovered = false
    /// How many looks nobody needed since the last recovery, since the database could be written.
    private var quietCount = 0

    /// Whether an upload that is stored shows that the database can be written again.
    var trustsCommits: Bool { skipCount == 0 }

    /// Whether to look now; asked every two seconds while the database cannot be written.
    mutating func isDue() -> Bool {
        guard skipCount > 0 else { return true }
        skipCount -= 1
        return false
    }

    /// Notes that two seconds have passed in which the database could be written.
    mutating func noteQuiet() {
        guard hasRecovered else { return }
        quietCount += 1
        if quietCount > lastSkipCount + Self.quietCount { self = ProbeSchedule() }
    }

    /// Notes that the database can be written again, as far as is known.
    mutating func noteRecovery() {
        hasRecovered = true
        quietCount = 0
    }

    /// Notes that something could not be written.
    mutating func noteFailure() {
        guard hasRecovered else { return }
        hasRecovered = false
        lastSkipCount = min(max(1, lastSkipCount * 2), Self.skipMax)
        skipCount = lastSkipCount
    }
}
