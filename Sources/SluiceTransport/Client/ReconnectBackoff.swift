/// How long to wait before each new attempt to connect: doubling from one second to five minutes, each up to a
/// quarter shorter by chance, so that clients of a restarted server do not come back all at once.
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
    ///   - jitter: the largest part of a wait left out by chance, 0 ... 1.
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

    /// A connection was made, or the failure is of another kind than before: begin again with the shortest wait.
    package mutating func reset() { next = initial }
}
