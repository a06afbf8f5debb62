internal import Sluice

/// The progress of a command that goes through the results of a query, on a terminal: how many it has done of all that
/// the server counts.
final class CountedProgress {
    /// What is drawn, and how many there are; nil where nobody sees it.
    private let shown: (bar: ProgressBar, total: Int)?
    private var done = 0

    /// Asks for the count where it will be seen.
    init(_ title: String, of rows: AsyncRows<Record>) async throws {
        guard Terminal.canRedraw, !Terminal.isOutput else {
            shown = nil
            return
        }
        shown = (ProgressBar(title), try await rows.count())
    }

    /// Notes that one more is done.
    func advance() {
        guard let (bar, total) = shown else { return }
        done += 1
        bar.update(fraction: Double(done) / Double(max(1, total)), count: done, unit: "objects")
    }

    /// Removes the line.
    func finish() { shown?.bar.finish() }
}
