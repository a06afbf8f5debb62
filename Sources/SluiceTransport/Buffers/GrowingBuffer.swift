import Glibc

/// Collects the pieces of a payload in memory that grows by doubling, never beyond a limit that the caller knows.
struct GrowingBuffer: ~Copyable {
    /// Owned by the buffer, which cannot be copied: pointers to it are valid until it grows or ends.
    private var storage: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: storage, count: count) }

    init() {}

    deinit { free(storage) }

    /// Returns memory after the content, for at least `additional` bytes.
    ///
    /// - Parameter limit: the greatest length that the content can reach; no memory is reserved beyond it.
    mutating func room(for additional: Int, limit: Int) -> UnsafeMutableRawBufferPointer {
        let needed = count + additional
        if needed > capacity {
            let doubled = max(needed, min(max(capacity * 2, 512), limit))
            guard let grown = realloc(storage, doubled) else { preconditionFailure("out of memory") }
            storage = grown
            capacity = doubled
        }
        return UnsafeMutableRawBufferPointer(start: storage.map { $0 + count }, count: capacity - count)
    }

    /// Adds the first `written` bytes of ``room(for:limit:)`` to the content.
    mutating func didWrite(_ written: Int) { count += written }

    mutating func append(_ piece: UnsafeRawBufferPointer, limit: Int) {
        guard !piece.isEmpty else { return }
        room(for: piece.count, limit: limit).copyMemory(from: piece)
        count += piece.count
    }

    /// Removes the content and frees the memory.
    mutating func release() {
        free(storage)
        storage = nil
        capacity = 0
        count = 0
    }
}
