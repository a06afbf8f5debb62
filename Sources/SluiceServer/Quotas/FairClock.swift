/// Says whose turn it is by what each holder has had: who has had least comes first, however much the others ask for.
///
/// It is the virtual time of start-time fair queueing (Goyal, Vin and Cheng, "Start-time Fair Queueing", 1996). A holder
/// who comes anew begins at the present time: nobody saves up by waiting, and nobody pays for what nobody else wanted.
struct FairClock {
    /// The start of whoever was served last.
    private var now = 0
    /// Where the next service of each holder starts; only of those who have had more than the present time.
    private var starts: [Holder: Int] = [:]

    /// Where the next service of a holder starts. The lowest comes first.
    func start(of holder: Holder) -> Int { max(now, starts[holder] ?? now) }

    /// Notes that a holder's turn has come.
    mutating func serve(_ holder: Holder) { now = start(of: holder) }

    /// Charges what was done for a holder.
    mutating func charge(_ cost: Int, to holder: Holder) {
        guard cost > 0 else { return }
        starts[holder] = start(of: holder) + cost
    }

    /// Forgets who has had how much. Call it when nobody waits.
    mutating func rest() { self = FairClock() }

    /// Forgets those who have had no more than anybody. O(n) for the holders that were charged.
    mutating func forgetEven() {
        guard !starts.isEmpty else { return }
        let now = now
        starts = starts.filter { $0.value > now }
    }
}
