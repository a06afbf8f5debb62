/// How the network between a store and a ``TestServer`` is. All of it follows the server's clock, and is the same in
/// every run with the same seed.
public struct NetworkConditions: Sendable, Hashable {
    /// How long each message takes, one way.
    public var latency: Duration
    /// What a message may take longer, at random. The order of messages stays.
    public var jitter: Duration
    /// How long a connection lasts before it breaks, with everything that is under way in it, at random within the
    /// range; nil if it does not break. The store connects again by its own schedule.
    public var connectionLifetime: ClosedRange<Duration>?
    /// What the random numbers are made of.
    public var seed: UInt64

    /// - Parameters:
    ///   - latency: how long each message takes, one way.
    ///   - jitter: what a message may take longer, at random.
    ///   - connectionLifetime: how long a connection lasts before it breaks; nil if it does not break.
    ///   - seed: what the random numbers are made of.
    public init(
        latency: Duration = .zero, jitter: Duration = .zero, connectionLifetime: ClosedRange<Duration>? = nil,
        seed: UInt64 = 1
    ) {
        self.latency = latency
        self.jitter = jitter
        self.connectionLifetime = connectionLifetime
        self.seed = seed
    }
}
