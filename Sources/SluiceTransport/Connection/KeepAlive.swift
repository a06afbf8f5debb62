/// Decides when to ping a quiet peer and when to end its connection.
///
/// All times are nanoseconds of one monotonic clock.
package struct KeepAlive: Sendable {
    package enum Action: Equatable, Sendable {
        case wait
        case ping
        /// Treat the peer as dead: for too long it has neither sent nor accepted anything.
        case giveUp
    }

    private let interval: Int64
    private let timeout: Int64
    private var lastReceived: Int64
    private var lastWritten: Int64
    private var isPingQueued = false
    private var pingWritten: Int64?
    /// How long the peer of a probe may send nothing; nil without a probe.
    private var probeTimeout: Int64?

    /// - Parameters:
    ///   - interval: how long a peer may send nothing before it is pinged.
    ///   - timeout: how long a peer may send nothing after a ping was written.
    ///   - jitter: 0 ..< 1; the fraction of the first interval to leave out, so that many connections do not ping
    ///     together.
    package init(interval: Duration, timeout: Duration, now: Int64, jitter: Double) {
        self.interval = interval.nanoseconds
        self.timeout = timeout.nanoseconds
        lastReceived = now - Int64(Double(self.interval) * jitter)
        lastWritten = now
    }

    /// Something was received from the peer.
    package mutating func didReceive(now: Int64) {
        lastReceived = now
        pingWritten = nil
        probeTimeout = nil
    }

    /// Begins to find out at once whether the peer is there. The caller sends a ping.
    ///
    /// - Parameter timeout: how long the peer may send nothing.
    package mutating func probe(timeout: Duration, now: Int64) {
        probeTimeout = min(timeout.nanoseconds, self.timeout)
        pingWritten = nil
        isPingQueued = true
        lastWritten = now
    }

    /// How long the peer may send nothing after a ping.
    private var limit: Int64 { probeTimeout ?? timeout }

    /// The kernel accepted bytes.
    ///
    /// - Parameter isQueueEmpty: whether the send queue is empty, so that a ping queued before has been written too.
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
            return now - pingWritten >= limit ? .giveUp : .wait
        }
        if isPingQueued {
            return now - max(lastWritten, lastReceived) >= limit ? .giveUp : .wait
        }
        guard now >= lastReceived + interval else { return .wait }
        isPingQueued = true
        lastWritten = now
        return .ping
    }

    /// When to call ``tick(now:)`` next.
    package var deadline: Int64 {
        if let pingWritten { return pingWritten + limit }
        if isPingQueued { return max(lastWritten, lastReceived) + limit }
        return lastReceived + interval
    }
}

extension Duration {
    /// The duration in whole nanoseconds. One of more than 292 years, which does not fit, becomes 146 years, so that a
    /// time can be added to it.
    var nanoseconds: Int64 {
        let parts = components
        let (product, overflow) = parts.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = product.addingReportingOverflow(parts.attoseconds / 1_000_000_000)
        return overflow || carry ? (parts.seconds < 0 ? .min : .max) / 2 : sum
    }
}
