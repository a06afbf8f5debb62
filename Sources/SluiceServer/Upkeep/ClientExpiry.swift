internal import SluiceModel
internal import SluiceStorage

/// Forgets clients that have been away for long, once a day, a limited number in each step.
///
/// A client is forgotten if it was last connected longer ago than ``DatabaseLimits/clientRetention``, and if the
/// log no longer reaches back to its version or it never uploaded anything. Section 9.2 of PROTOCOL.md says what
/// happens when it comes back.
struct ClientExpiry {
    private enum State {
        /// There is nothing to do before this time.
        case idle(until: Timestamp)
        /// Clients up to this id have been examined.
        case running(after: UInt64)
    }

    private static let interval: Int64 = 86_400_000_000
    /// The maximum number of records examined in one step.
    private static let recordCountMax = 1_000

    private var state = State.idle(until: Timestamp(microseconds: .min))

    /// Does one step, in a small transaction of its own, if it is due.
    ///
    /// - Parameters:
    ///   - connected: the clients that have a session now.
    ///   - retention: how long a client must have been away, in microseconds.
    /// - Returns: how many clients were forgotten.
    mutating func step(
        _ database: Database, connected: @autoclosure () -> [UInt64], retention: Int64, now: Timestamp
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
        let result = try database.transaction {
            let storage = database.storage
            if isFirst { try storage.noteSeen(connected(), at: now) }
            return try storage.forgetClients(
                lastSeenBefore: Timestamp(microseconds: now.microseconds - retention), after: cursor,
                countMax: Self.recordCountMax)
        }
        if let next = result.next { state = .running(after: next) }
        return result.count
    }
}
