internal import SluiceModel
internal import SluiceStorage

/// Forgets clients that have been away for long, some at a time, once a day.
///
/// A client is forgotten when it was last here before ``DatabaseEngine/Limits/clientRetention``, and the log no longer
/// reaches its version or it never uploaded anything. What it may not do when it comes back is PROTOCOL.md's section 9.2.
struct ClientExpiry {
    private enum State {
        /// Nothing to do before this time.
        case idle(until: Timestamp)
        /// Clients up to this id were looked at.
        case running(after: UInt64)
    }

    private static let interval: Int64 = 86_400_000_000
    /// The most records looked at in one step.
    private static let recordCountMax = 1_000

    private var state = State.idle(until: Timestamp(microseconds: .min))

    /// Does a step, in a small transaction of its own, if it is time.
    ///
    /// - Parameters:
    ///   - connected: the clients with a session, which are here now.
    ///   - retention: in microseconds.
    /// - Returns: how many clients were forgotten.
    mutating func step(
        _ storage: any ServerStorage, connected: [UInt64], retention: Int64, now: Timestamp
    ) throws -> Int {
        let isFirst: Bool
        let cursor: UInt64
        switch state {
        case .idle(let time):
            guard time <= now else { return 0 }
            (isFirst, cursor) = (true, 0)
        case .running(let after): (isFirst, cursor) = (false, after)
        }
        state = .idle(until: Timestamp(microseconds: now.microseconds + Self.interval))
        try storage.begin()
        do {
            if isFirst { try storage.noteSeen(connected, at: now) }
            let result = try storage.forgetClients(
                lastSeenBefore: Timestamp(microseconds: now.microseconds - retention), after: cursor,
                countMax: Self.recordCountMax)
            try storage.commit()
            if let next = result.next { state = .running(after: next) }
            return result.count
        } catch {
            storage.rollback()
            throw error
        }
    }
}
