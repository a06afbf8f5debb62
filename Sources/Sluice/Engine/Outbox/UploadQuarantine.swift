internal import SluiceModel
internal import SluiceWire

/// Finds the transaction over which the server keeps ending the connection, and sets it aside, so that the others go
/// on.
///
/// A server cannot reject what it cannot read. When it ends the connection over a violation of the protocol while
/// uploads travel, they are sent again one at a time. In the place of the one over which it does so `attemptCountMax`
/// times a placeholder is sent that it rejects, and remembers as rejected until this client has dropped the
/// transaction.
struct UploadQuarantine {
    private enum State {
        /// The server has read everything so far.
        case trusting
        /// The server ended the connection `count` times while `suspect` was the first transaction that it had not
        /// acknowledged. Up to `last` transactions travel one at a time.
        case probing(suspect: UInt64, count: Int, last: UInt64)
    }

    static let attemptCountMax = 3
    /// An operation that no server accepts: there is no such class.
    static let placeholder = ObjectOperation(ObjectRef(Int(Int32.max), .int(0)), .delete)
    private var state = State.trusting
    /// Why transactions were set aside, by sequence.
    private var reasons: [UInt64: ServerMessage.Rejection.Reason] = [:]

    /// Whether a placeholder is to be sent in a transaction's place.
    func isSetAside(_ sequence: UInt64) -> Bool { reasons[sequence] != nil }

    /// A rejection with the reason why a placeholder was sent, if one was.
    func explained(_ rejection: ServerMessage.Rejection) -> ServerMessage.Rejection {
        guard let reason = reasons[rejection.sequence] else { return rejection }
        return ServerMessage.Rejection(sequence: rejection.sequence, reasons: [reason])
    }

    /// Whether a transaction must be the only one that is unacknowledged.
    func mustTravelAlone(_ sequence: UInt64) -> Bool {
        if case .probing(_, _, let last) = state { sequence <= last } else { false }
    }

    /// Notes that the server ended the connection while these transactions travelled.
    mutating func noteBreak(over travelling: ClosedRange<UInt64>, because reason: String) {
        var (count, last) = (1, travelling.upperBound)
        if case .probing(let suspect, let before, let end) = state {
            last = max(last, end)
            if suspect == travelling.lowerBound { count = before + 1 }
        }
        state = .probing(suspect: travelling.lowerBound, count: count, last: last)
        guard count >= Self.attemptCountMax else { return }
        setAside(
            travelling.lowerBound, .protocolViolation,
            "the server ended the connection \(count) times over this transaction, the last time because: \(reason)")
    }

    /// Has a placeholder sent from now on.
    mutating func setAside(_ sequence: UInt64, _ code: ErrorCode, _ reason: String) {
        reasons[sequence] = ServerMessage.Rejection.Reason(code: code, message: reason)
    }

    mutating func noteAcknowledged(_ sequence: UInt64) {
        if case .probing(_, _, let last) = state, sequence >= last { state = .trusting }
    }

    /// Forgets transactions that have left the outbox.
    mutating func forget(through sequence: UInt64) {
        guard !reasons.isEmpty else { return }
        reasons = reasons.filter { $0.key > sequence }
    }
}
