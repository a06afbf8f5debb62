/// What is said of failures that may come without end: the first in full, and then now and then how many there were and
/// what the last was.
struct FailureAccount {
    /// How many are said in full.
    static let fullCountMax = 10
    /// How long nothing is said then.
    static let interval = Duration.seconds(30)

    private var fullCount = 0
    private var lastLine: ContinuousClock.Instant?
    /// Those that were not said.
    private var hiddenCount = 0
    private var lastText = ""

    /// Counts a failure.
    ///
    /// - Returns: what is to be said now; nil for nothing.
    mutating func note(_ text: String, at now: ContinuousClock.Instant) -> String? {
        if fullCount < Self.fullCountMax {
            fullCount += 1
            lastLine = now
            guard fullCount == Self.fullCountMax else { return text }
            return text + "\nfurther failures are counted, and said every \(Self.interval.components.seconds) s"
        }
        hiddenCount += 1
        lastText = text
        if let lastLine, lastLine.duration(to: now) < Self.interval { return nil }
        lastLine = now
        return takeRest()
    }

    /// What is left to be said; nil for nothing.
    mutating func takeRest() -> String? {
        defer { hiddenCount = 0 }
        switch hiddenCount {
        case 0: return nil
        case 1: return lastText
        default:
            return
                "\(GroupedNumber.text(hiddenCount)) more attempts failed or were put off, the last of them: \(lastText)"
        }
    }
}
