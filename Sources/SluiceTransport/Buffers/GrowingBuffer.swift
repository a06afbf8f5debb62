import Glibc

/// Bytes collected one piece after another in memory that grows by doubling, never beyond a limit known beforehand.
struct GrowingBuffer: ~Copyable {
    private var storage: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: storage, count: count) }

    init() {}

    deinit { free(storage) }

    /// Makes room for `additional` bytes and returns it.
    ///
    /// - Parameter limit: the length the whole can reach; memory is never reserved beyond it.
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

    /// Counts bytes written into ``room(for:limit:)`` as content.
    mutating func didWrite(_ written: Int) { count += written }

    mutating func append(_ piece: UnsafeRawBufferPointer, limit: Int) {
        guard !piece.isEmpty else { return }
        room(for: piece.count, limit: limit).copyMemory(from: piece)
        count += piece.count
    }

    /// Empties it and gives the memory back.
    mutating func release() {
        free(storage)
        storage = nil
        capacity = 0
        count = 0
    }
}
