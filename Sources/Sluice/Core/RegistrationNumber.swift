internal import Synchronization

/// The number of something that the store's queue registers, for those who hold it from before it is known.
final class RegistrationNumber: Sendable {
    private let number = Atomic<UInt64>(0)

    /// The number; 0 before it is known.
    var value: UInt64 { number.load(ordering: .sequentiallyConsistent) }

    func set(_ value: UInt64) { number.store(value, ordering: .sequentiallyConsistent) }
}
