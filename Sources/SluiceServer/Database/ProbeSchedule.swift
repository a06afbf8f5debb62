/// When to look whether a database that could not be written can be again.
///
/// A look sees whether the disk has room, and not whether the next upload fits a quota. Where an upload fails again after
/// a look has found room, twice as many looks are left out before the next, so that clients do not come again and again
/// with what cannot be stored.
struct ProbeSchedule {
    /// The most looks that are left out: about five minutes' worth.
    static let skipMax = 150

    /// How many looks to leave out.
    private var skipCount = 0
    /// How many were left out before the last look that found room.
    private var lastSkipCount = 0
    private var hasFoundRoom = false

    /// Whether to look now; asked every two seconds.
    mutating func isDue() -> Bool {
        guard skipCount > 0 else { return true }
        skipCount -= 1
        return false
    }

    /// Notes that a look has found room.
    mutating func noteRoom() { hasFoundRoom = true }

    /// Notes that something could not be written.
    mutating func noteFailure() {
        guard hasFoundRoom else { return }
        hasFoundRoom = false
        lastSkipCount = min(max(1, lastSkipCount * 2), Self.skipMax)
        skipCount = lastSkipCount
    }

    /// Notes that something was written.
    mutating func noteSuccess() { self = ProbeSchedule() }
}
