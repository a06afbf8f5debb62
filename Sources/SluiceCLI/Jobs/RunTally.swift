internal import Sluice
internal import Synchronization

/// What a run has done, and what it has not.
final class RunTally: Sendable {
    private struct Counts {
        var done = 0
        var failed = 0
        var givenUp = 0
        var waiting = WaitingTries()
        var account = FailureAccount()
    }

    private let counts = Mutex(Counts())
    private let bar: ProgressBar
    private let report: @Sendable (String) -> Void

    init(_ title: String, report: @escaping @Sendable (String) -> Void = { Diagnostics.report($0) }) {
        bar = ProgressBar(title)
        self.report = report
    }

    /// Counts objects that are done.
    func note(_ count: Int, of known: Int?) {
        let done = counts.withLock { counts in
            counts.done += count
            return counts.done
        }
        bar.update(fraction: known.map { $0 == 0 ? 1 : Double(done) / Double($0) }, count: done, unit: "objects")
    }

    /// Counts that objects are not done, and says so unless much fails: where the job keeps it, nobody looks while it runs.
    ///
    /// - Parameter count: how many attempts at rows that were.
    func note(
        _ error: any Error, of batch: BatchLabel, count: Int, at now: ContinuousClock.Instant = .now
    ) {
        guard !Task.isCancelled else { return }
        let isTooLarge = (error as? StoreError)?.code == .transactionTooLarge
        let hint = isTooLarge && batch.count != 1 ? "; use a smaller --batch" : ""
        let text = "\(batch.text): \(CommandError(error).message)\(hint)"
        let said = counts.withLock { counts in
            if (error as? JobError)?.code != .tryAgain { counts.failed += count }
            return counts.account.note(text, at: now)
        }
        if let said { report(said) }
    }

    /// Counts and says that an object was given up.
    func note(givenUp letter: DeadLetter) {
        counts.withLock { $0.givenUp += 1 }
        let attempts = GroupedNumber.text(letter.attemptCount, "attempt")
        report("\(letter.object.className) \(letter.object.key) is given up after \(attempts): \(letter.error)")
    }

    /// Counts rows that nobody can claim yet.
    func note(waiting: WaitingTries) { counts.withLock { $0.waiting = waiting } }

    /// What is not done, for a run that was to do everything; nil if nothing is left.
    ///
    /// - Parameter lister: the command that lists what was given up.
    func problem(_ lister: String) -> CommandError? {
        let counts = counts.withLock { $0 }
        let failed = counts.failed == 0 ? [] : ["\(GroupedNumber.text(counts.failed, "attempt")) at rows failed"]
        let (was, it) = (
            GroupedNumber.noun(counts.givenUp, "was", "were"), GroupedNumber.noun(counts.givenUp, "it", "them")
        )
        let givenUp =
            counts.givenUp == 0
            ? [] : ["\(GroupedNumber.text(counts.givenUp, "object")) \(was) given up, and '\(lister)' lists \(it)"]
        let left = Self.text(left: counts.waiting)
        let parts = failed + givenUp + left
        guard !parts.isEmpty else { return nil }
        let message = parts.joined(separator: "; ")
        return failed.isEmpty && givenUp.isEmpty ? .tryAgain(message) : .unfinished(message)
    }

    /// What is said of rows that nobody can claim yet.
    private static func text(left: WaitingTries) -> [String] {
        let waiting = left.next.map { next in
            let (are, were) = left.count == 1 ? ("is", "was") : ("are", "were")
            return
                "\(GroupedNumber.text(left.count, "row")) that failed or \(were) put off \(are) left for another try, the "
                + "first at \(next)"
        }
        let held = left.heldUntil.map { end in
            "\(GroupedNumber.text(left.heldCount, "row")) \(left.heldCount == 1 ? "is" : "are") held by another run, which is at "
                + "work or has died, the first until \(end) or longer"
        }
        return [waiting, held].compactMap(\.self)
    }

    func finish() {
        bar.finish()
        let (rest, done) = counts.withLock { ($0.account.takeRest(), $0.done) }
        if let rest { report(rest) }
        report("\(GroupedNumber.text(done, "object")) \(GroupedNumber.noun(done, "is", "are")) done")
    }
}
