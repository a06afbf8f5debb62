/// Decides when to ping a quiet peer and when to end its connection.
///
/// All times are nanoseconds of one monotonic clock.
package struct KeepAlive: Sendable {
    package enum Action: Equatable, Sendable {
        case wait
        case ping
        /// The peer is dead: it neither sent nor took anything for too long.
        case giveUp
    }

    private let interval: Int64
    private let timeout: Int64
    private var lastReceived: Int64
    private var lastWritten: Int64
    private var isPingQueued = false
    private var pingWritten: Int64?

    /// - Parameters:
    ///   - interval: how long a peer may be quiet before it is pinged.
    ///   - timeout: how long after a ping has left a peer may stay quiet.
    ///   - jitter: 0 ..< 1; how much of the first interval to leave out, so that many connections do not ping together.
    package init(interval: Duration, timeout: Duration, now: Int64, jitter: Double) {
        self.interval = interval.nanoseconds
        self.timeout = timeout.nanoseconds
        lastReceived = now - Int64(Double(self.interval) * jitter)
        lastWritten = now
    }

    /// Anything came from the peer.
    package mutating func didReceive(now: Int64) {
        lastReceived = now
        pingWritten = nil
    }

    /// The kernel took bytes.
    ///
    /// - Parameter isQueueEmpty: whether a ping queued before has left too.
    package mutating func didWrite(now: Int64, isQueueEmpty: Bool) {
        lastWritten = now
        if isQueueEmpty, isPingQueued {
            isPingQueued = false
            pingWritten = now
        }
    }

    /// What to do now. Call it at ``deadline`` or later.
    package mutating func tick(now: Int64) -> Action {
        if let pingWritten {
            return now - pingWritten >= timeout ? .giveUp : .wait
        }
        if isPingQueued {
            return now - max(lastWritten, lastReceived) >= timeout ? .giveUp : .wait
        }
        guard now >= lastReceived + interval else { return .wait }
        isPingQueued = true
        lastWritten = now
        return .ping
    }

    /// When to call ``tick(now:)`` next.
    package var deadline: Int64 {
        if let pingWritten { return pingWritten + timeout }
        if isPingQueued { return max(lastWritten, lastReceived) + timeout }
        return lastReceived + interval
    }
}

extension Duration {
    /// Whole nanoseconds, at most 292 years.
    var nanoseconds: Int64 {
        let parts = components
        let (product, overflow) = parts.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = product.addingReportingOverflow(parts.attoseconds / 1_000_000_000)
        return overflow || carry ? (parts.seconds < 0 ? .min : .max) / 2 : sum
    }
}
