internal import Glibc
internal import Synchronization

/// Counts what a piece of code allocates on the heap: every object, closure, box and buffer of an array, a dictionary or a
/// string that the Swift runtime makes room for, in debug builds as in others.
///
/// Stands in for the function that the runtime lets instruments replace (`_swift_allocObject`).
package enum AllocationCounter {
    /// This runtime has nothing to stand in for.
    package struct Unavailable: Error {}

    private typealias Allocate =
        @convention(c) @Sendable (_ metadata: UnsafeRawPointer?, _ size: Int, _ alignmentMask: Int) ->
        UnsafeMutableRawPointer?

    // Sound because what they point to is written within `turn` alone, a word at a time.
    nonisolated(unsafe) private static let allocate: UnsafeMutablePointer<Allocate>? = symbol("_swift_allocObject")
    /// Without this the runtime calls its own function.
    nonisolated(unsafe) private static let isReplaceable: UnsafeMutablePointer<Bool>? = symbol(
        "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly")
    private static let original = allocate?.pointee
    /// The thread that is counted; 0 for none.
    private static let thread = Atomic<UInt>(0)
    private static let counted = Atomic<Int>(0)
    private static let turn = Mutex(())

    /// How often `body` allocates. What other threads do meanwhile does not count; countings wait for each other.
    ///
    /// - Throws: ``Unavailable``, and what `body` throws.
    package static func count(_ body: () throws -> Void) throws -> Int {
        guard let allocate, let isReplaceable, let original else { throw Unavailable() }
        return try turn.withLock { _ in
            counted.store(0, ordering: .relaxed)
            thread.store(UInt(pthread_self()), ordering: .relaxed)
            isReplaceable.pointee = true
            allocate.pointee = { AllocationCounter.count($0, $1, $2) }
            defer {
                allocate.pointee = original
                isReplaceable.pointee = false
                thread.store(0, ordering: .relaxed)
            }
            try body()
            return counted.load(ordering: .relaxed)
        }
    }

    private static func count(
        _ metadata: UnsafeRawPointer?, _ size: Int, _ alignmentMask: Int
    ) -> UnsafeMutableRawPointer? {
        if thread.load(ordering: .relaxed) == UInt(pthread_self()) { counted.add(1, ordering: .relaxed) }
        return original?(metadata, size, alignmentMask)
    }

    private static func symbol<Content>(_ name: String) -> UnsafeMutablePointer<Content>? {
        dlsym(dlopen(nil, RTLD_NOW), name)?.assumingMemoryBound(to: Content.self)
    }
}
