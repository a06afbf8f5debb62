internal import Synchronization

/// Draws ids for keyless objects: a random 64-bit origin and a counter.
///
/// Two generators collide only if they draw the same origin; ids of one generator ascend, so they arrive in index order.
public final class ObjectIDGenerator: Sendable {
    private let origin: UInt64
    private let counter: Atomic<UInt64>

    /// - Parameters:
    ///   - origin: 64 random bits; a test injects its own for reproducible ids.
    ///   - first: the first counter value.
    public init(origin: UInt64 = .random(in: .min ... .max), first: UInt64 = 1) {
        self.origin = origin
        self.counter = Atomic(first)
    }

    /// A fresh id. Safe from any thread; never repeats.
    public func next() -> ObjectID {
        ObjectID(high: origin, low: counter.wrappingAdd(1, ordering: .relaxed).oldValue)
    }

    /// The generator that values use when no other is given: one origin per process.
    public static let process = ObjectIDGenerator()
}
