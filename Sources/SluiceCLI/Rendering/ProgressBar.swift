internal import Synchronization

/// Shows the progress of a long command in one line on a terminal. Without a terminal it shows nothing.
final class ProgressBar: Sendable {
    private static let interval: Duration = .milliseconds(100)

    private let title: String
    private let isEnabled: Bool
    private let start = ContinuousClock.now
    private let shown = Mutex<ContinuousClock.Instant?>(nil)

    init(_ title: String, isEnabled: Bool = Terminal.canRedraw) {
        self.title = title
        self.isEnabled = isEnabled
    }

    /// Shows the progress, at most ten times a second.
    ///
    /// - Parameters:
    ///   - fraction: from 0 to 1; nil if the end is not known.
    ///   - count: how many units are done.
    func update(fraction: Double?, count: Int, unit: String = "rows") {
        guard isEnabled else { return }
        let now = ContinuousClock.now
        let isDue = shown.withLock { shown in
            if let last = shown, now - last < Self.interval { return false }
            shown = now
            return true
        }
        guard isDue else { return }
        Diagnostics.draw(Self.line(title: title, fraction: fraction, count: count, unit: unit, elapsed: now - start))
    }

    /// Removes the line.
    func finish() { Diagnostics.undraw() }

    /// The line of progress: `importing [#####-----] 50 %  120,000 rows, 80,000/s`.
    static func line(title: String, fraction: Double?, count: Int, unit: String, elapsed: Duration) -> String {
        let seconds = elapsed / .seconds(1)
        let rate = seconds > 0 ? Int(Double(count) / seconds) : 0
        var line = title
        if let fraction {
            let bounded = min(max(fraction, 0), 1)
            let filled = Int(bounded * 24)
            let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: 24 - filled)
            line += " [\(bar)] \(Int(bounded * 100)) %"
        }
        return line + "  \(GroupedNumber.text(count)) \(unit), \(GroupedNumber.text(rate))/s"
    }
}
