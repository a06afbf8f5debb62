/// Counts what a piece of code allocates: this program's `malloc` stands before that of the C library, which keeps doing
/// the work.
enum AllocationCounter {
    // Sound because one thread counts at a time, and others add to a count that is then wrong and nothing else.
    nonisolated(unsafe) fileprivate static var count = 0
    nonisolated(unsafe) fileprivate static var isCounting = false

    /// How often `body` calls `malloc`. Nothing else may be running.
    static func count(_ body: () throws -> Void) rethrows -> Int {
        count = 0
        isCounting = true
        defer { isCounting = false }
        try body()
        return count
    }
}

@_silgen_name("__libc_malloc")
private func libraryMalloc(_ size: Int) -> UnsafeMutableRawPointer?

// The linker makes this `malloc`: see Package.swift.
@_cdecl("sluice_counting_malloc")
public func countingMalloc(_ size: Int) -> UnsafeMutableRawPointer? {
    if AllocationCounter.isCounting { AllocationCounter.count += 1 }
    return libraryMalloc(size)
}
