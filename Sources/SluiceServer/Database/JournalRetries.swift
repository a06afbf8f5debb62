internal import SluiceStorage

/// When to ask a journal again that does not answer: after a tenth of a second, and after twice as long each time, up to
/// five seconds. At once when something else says that it may answer again.
///
///     state   silence   hastened       taken   caught up
///     --------------------------------------------------
///     none    due       due at once    –       =
///     due     =         due at once    out     none
///     out     due       due at once    –       none
///
/// `=` leaves the state, and with `–` there is no question. One that was out when another became due counts no more.
struct JournalRetries {
    private enum State {
        case none
        case due(after: Duration)
        case out(JournalRetry)
    }

    private static let delayMin = Duration.milliseconds(100)
    private static let delayMax = Duration.seconds(5)

    private var state = State.none
    private var nextDelay = delayMin

    /// Notes that the journal has not answered, a question or something else.
    mutating func noteSilence() {
        if case .due = state { return }
        state = .due(after: nextDelay)
        nextDelay = min(nextDelay * 2, Self.delayMax)
    }

    mutating func hasten() { state = .due(after: .zero) }

    mutating func end() { self = JournalRetries() }

    /// The next question; nil if none is due, or one is out.
    mutating func take(_ make: (_ delay: Duration) -> JournalRetry) -> JournalRetry? {
        guard case .due(let delay) = state else { return nil }
        let retry = make(delay)
        state = .out(retry)
        return retry
    }

    /// Whether an answer is that to the last question.
    func isOut(_ retry: JournalRetry) -> Bool { if case .out(let last) = state { last === retry } else { false } }
}

/// A question to a journal that has not answered, which is asked beside the database's queue and then given back with
/// ``DatabaseEvent/journalAsked(_:)``.
package final class JournalRetry: @unchecked Sendable {
    // Sound because the engine leaves the journal alone while the question is out.
    private let journal: any Journal
    private let position: UInt64
    private(set) var isAnswered = false
    /// How long to wait before it is asked.
    package let delay: Duration

    /// - Parameter position: where the database stands in the journal.
    init(_ journal: any Journal, position: UInt64, delay: Duration) {
        self.journal = journal
        self.position = position
        self.delay = delay
    }

    /// Asks. This blocks for as long as the journal allows.
    package func run() {
        do {
            _ = try journal.records(after: position, countMax: 1)
            isAnswered = true
        } catch {
            // Whatever else is wrong is found when the database catches up.
            isAnswered = (error as? StorageError)?.isSilence != true
        }
    }
}
