internal import Sluice
internal import Synchronization

/// What a run has done, and what it has not.
final class RunTally: Sendable {
    private struct Counts {
        var done = 0
        var failed = 0
        var parked = 0
        var waiting = WaitingTries()
    }

    private let counts = Mutex(Counts())
    private let bar: ProgressBar

    init(_ title: String) { bar = ProgressBar(title) }

    /// Counts objects that are done.
    func note(_ count: Int, of known: Int?) {
        let done = counts.withLock { counts in
            counts.done += count
            return counts.done
        }
        bar.update(fraction: known.map { $0 == 0 ? 1 : Double(done) / Double($0) }, count: done, unit: "objects")
    }

    /// Says and counts that objects are not done. Where the job keeps it, nobody looks while it runs.
    func note(_ error: any Error, of id: String, count: Int) {
        guard !Task.isCancelled else { return }
        let isTooLarge = (error as? StoreError)?.code == .transactionTooLarge
        let hint = isTooLarge && count != 1 ? "; use a smaller --batch" : ""
        Diagnostics.report("\(id): \(CommandError(error).message)\(hint)")
        if (error as? JobError)?.code != .tryAgain { counts.withLock { $0.failed += count } }
    }

    /// Counts objects that were put aside.
    func note(parked count: Int) { counts.withLock { $0.parked += count } }

    /// Counts rows that wait for another try.
    func note(waiting: WaitingTries) { counts.withLock { $0.waiting = waiting } }

    /// What is not done, for a run that was to do everything; nil if nothing is left.
    var problem: CommandError? {
        let counts = counts.withLock { $0 }
        let waiting = counts.waiting.next.map { next in
            "\(GroupedNumber.text(counts.waiting.count)) rows are left that have failed or were put off, and wait for their "
                + "next try: the first until \(next)"
        }
        if counts.failed > 0 {
            return .unfinished(
                "\(GroupedNumber.text(counts.failed)) attempts at rows have failed; 'sluice queues' lists what is given up"
                    + (waiting.map { "; \($0)" } ?? ""))
        }
        if counts.parked > 0 {
            return .unfinished(
                "\(GroupedNumber.text(counts.parked)) objects were put aside; 'sluice consumers' lists them")
        }
        return waiting.map { CommandError.tryAgain($0) }
    }

    func finish() {
        bar.finish()
        Diagnostics.report("\(GroupedNumber.text(counts.withLock { $0.done })) objects are done")
    }
}
