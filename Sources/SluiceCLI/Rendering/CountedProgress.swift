internal import Sluice

/// The progress of a command that goes through the objects of a class, on a terminal: how many it has done of all that
/// the server counts.
final class CountedProgress {
    private let bar: ProgressBar?
    /// How many there are; nil where the server does not say it.
    private let total: Int?
    private var done = 0

    /// Asks for the count where it will be seen.
    ///
    /// - Parameter results: all objects of a class.
    init(_ title: String, of results: Results<Record>, in store: Store, timeout: Duration?) async throws {
        guard Terminal.canRedraw, !Terminal.isOutput else {
            (bar, total) = (nil, nil)
            return
        }
        let text = try results.canonicalText + " AGGREGATE(@count)"
        let count = try await store.records(text).aggregates.synced(timeout: timeout)
        total = if case .int(let total)? = count.rows.first?.first { Int(total) } else { nil }
        bar = ProgressBar(title)
    }

    /// Notes that one more is done.
    func advance() {
        guard let bar else { return }
        done += 1
        bar.update(fraction: total.map { Double(done) / Double(max(1, $0)) }, count: done, unit: "objects")
    }

    /// Removes the line.
    func finish() { bar?.finish() }
}
