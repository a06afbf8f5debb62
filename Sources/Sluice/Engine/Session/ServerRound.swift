internal import SluiceTransport

/// Which of several servers the next attempt to connect goes to, and how long it waits.
///
/// Attempts go round: each server is tried once without a wait between, then the store waits, longer from round to
/// round.
package struct ServerRound {
    private let serverCount: Int
    private let isRandom: Bool
    private var backoff: ReconnectBackoff
    /// The servers that this round has not tried yet; empty before a round.
    private var left: [Int] = []
    /// The server of the last attempt; nil before the first.
    private var last: Int?
    /// How many attempts have failed in a row.
    package private(set) var failureCount = 0

    package init(_ options: ClientOptions) {
        serverCount = max(1, options.serverCount)
        isRandom = options.choosesServersAtRandom
        backoff = ReconnectBackoff(initial: options.reconnectDelay, maximum: options.reconnectDelayMax)
    }

    /// The server of the next attempt.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> Int {
        if left.isEmpty {
            left = Array(0..<serverCount)
            if isRandom, serverCount > 1 { left.shuffle(using: &generator) }
        }
        let server = left.removeFirst()
        last = server
        return server
    }

    /// Lets the next attempts go to the other servers first.
    package mutating func moveOn(using generator: inout some RandomNumberGenerator) {
        left = (0..<serverCount).filter { $0 != last }
        if isRandom { left.shuffle(using: &generator) }
        if let last { left.append(last) }
    }

    /// Notes that an attempt, or the session that it led to, has ended.
    ///
    /// - Returns: the wait before the next attempt.
    package mutating func delay(using generator: inout some RandomNumberGenerator) -> Duration {
        failureCount += 1
        return left.isEmpty ? backoff.delay(using: &generator) : .zero
    }

    /// Whether this round goes on to another server.
    var hasNext: Bool { !left.isEmpty }

    /// Lets waits begin with the shortest again.
    mutating func resetBackoff() { backoff.reset() }

    /// Begins anew: a session has opened, or the program asks for it.
    package mutating func reset() {
        backoff.reset()
        left = []
        failureCount = 0
    }
}
