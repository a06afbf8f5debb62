internal import SluiceModel
internal import SluiceStorage

/// Which transactions wait for the acknowledgement of the uploads under way, so that all that is written meanwhile
/// travels in one frame.
///
/// A frame for each small transaction costs a system call on both sides, a thread that wakes, and mostly a group of
/// its own at the server, with a sync, a commit at each reader and an acknowledgement. A server that answers quickly
/// loses little by the wait, since it stores the uploads under way before it takes others. From a server that takes
/// longer, such as one far away, nothing is held back. If an answer fails to come, what waits is sent with the next
/// write, or by the timer of ``PostponedAcknowledgements``.
struct UploadPace {
    /// The maximum number of operations that are under way or wait. More are worth frames of their own.
    private static let operationCountMax = 64

    /// How quickly the server has to answer, in microseconds; also how old an upload under way is at most when a
    /// written transaction begins to wait for it.
    private let answerTimeMax: Int64
    /// The upload whose acknowledgement is timed; nil if none is.
    private var timed: (sequence: UInt64, sentAt: Timestamp)?
    /// Whether the last answer came quickly.
    private var isQuick = false
    private var held: [OutboxEntry] = []
    private var heldOperationCount = 0

    init(quickAnswerTime: Duration) { answerTimeMax = Int64(quickAnswerTime / .microseconds(1)) }

    /// The last sequence that waits; nil if none does.
    var lastHeld: UInt64? { held.last?.changeset.sequence }

    /// Holds back what was just written, if that is worth it.
    ///
    /// - Parameter operationCount: the operations that are under way; above zero.
    /// - Returns: false if it has to be sent now, with what waits.
    mutating func holds(_ entry: OutboxEntry, behind operationCount: Int, at now: Timestamp) -> Bool {
        let added = entry.changeset.operationCount
        guard isQuick, let timed, isQuick(since: timed.sentAt, now),
            operationCount + heldOperationCount + added <= Self.operationCountMax
        else { return false }
        held.append(entry)
        heldOperationCount += added
        return true
    }

    /// Takes what waits, in order.
    mutating func takeHeld() -> [OutboxEntry] {
        defer { (held, heldOperationCount) = ([], 0) }
        return held
    }

    /// Notes that everything up to `sequence` was sent.
    mutating func noteSent(through sequence: UInt64, at now: Timestamp) {
        if timed == nil { timed = (sequence, now) }
    }

    /// Notes that everything up to `sequence` is acknowledged.
    mutating func noteAcknowledged(through sequence: UInt64, at now: Timestamp) {
        guard let timed, timed.sequence <= sequence else { return }
        isQuick = isQuick(since: timed.sentAt, now)
        self.timed = nil
    }

    /// A clock that was set back says nothing, so the answer counts as slow.
    private func isQuick(since time: Timestamp, _ now: Timestamp) -> Bool {
        let (elapsed, isOverflow) = now.microseconds.subtractingReportingOverflow(time.microseconds)
        return !isOverflow && (0...answerTimeMax).contains(elapsed)
    }
}
