internal import Synchronization

/// Generates the ids of keyless objects, from a random 64-bit origin and a counter.
///
/// Two generators can collide only if they draw the same origin. The ids of one generator ascend, so new objects are
/// appended to an index by id.
public final class ObjectIDGenerator: Sendable {
    /// The upper half of every id.
    package let origin: UInt64
    private let counter: Atomic<UInt64>

    /// - Parameters:
    ///   - origin: 64 random bits; a test gives its own for reproducible ids.
    ///   - first: the first counter value.
    public init(origin: UInt64 = .random(in: .min ... .max), first: UInt64 = 1) {
        self.origin = origin
        self.counter = Atomic(first)
    }

    /// Makes a new id. Any thread may call it; it never repeats an id.
    public func next() -> ObjectID {
        ObjectID(high: origin, low: counter.wrappingAdd(1, ordering: .relaxed).oldValue)
    }

    /// The generator that values use when no other is given: each process has one origin.
    public static let process = ObjectIDGenerator()
}
