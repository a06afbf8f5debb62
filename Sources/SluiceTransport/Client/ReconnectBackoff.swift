/// Computes how long a client waits before each new attempt to connect.
///
/// The wait doubles from one second to five minutes. A random part of it, up to a quarter, is left out, so that the
/// clients of a restarted server do not all come back at once.
package struct ReconnectBackoff: Sendable {
    private let initial: Duration
    private let factor: Double
    private let maximum: Duration
    private let jitter: Double
    private var next: Duration

    /// - Parameters:
    ///   - initial: the first wait.
    ///   - factor: how much longer each wait is than the one before, at least 1.
    ///   - maximum: the longest wait.
    ///   - jitter: the largest fraction of a wait that may be left out at random, 0 ... 1.
    package init(
        initial: Duration = .seconds(1), factor: Double = 2, maximum: Duration = .seconds(300), jitter: Double = 0.25
    ) {
        self.initial = min(initial, maximum)
        self.factor = max(factor, 1)
        self.maximum = maximum
        self.jitter = min(max(jitter, 0), 1)
        next = self.initial
    }

    /// The wait before the next attempt.
    package mutating func delay(using generator: inout some RandomNumberGenerator) -> Duration {
        let base = next
        next = min(base * factor, maximum)
        return base * (1 - jitter * Double.random(in: 0...1, using: &generator))
    }

    /// Starts again with the shortest wait. Call it when a connection was made, or when the failure is of another kind
    /// than the one before.
    package mutating func reset() { next = initial }
}
