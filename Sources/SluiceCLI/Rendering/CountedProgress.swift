internal import Sluice

/// The progress of a command that goes through the objects of a class, on a terminal: how many it has done of all that
/// the server counts.
final class CountedProgress {
    /// What is drawn, and how many there are; nil where nobody sees it.
    private let shown: (bar: ProgressBar, total: Int)?
    private var done = 0

    /// Asks for the count where it will be seen.
    ///
    /// - Parameter results: all objects of a class.
    init(_ title: String, of results: Results<Record>, in store: Store, timeout: Duration?) async throws {
        guard Terminal.canRedraw, !Terminal.isOutput else {
            shown = nil
            return
        }
        let text = try results.canonicalText + " AGGREGATE(@count)"
        let count = try await store.records(text).aggregates.synced(timeout: timeout)
        guard case .int(let total)? = count.rows.first?.first else {
            shown = nil
            return
        }
        shown = (ProgressBar(title), Int(total))
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
