/// Holds received bytes until they are decoded, in the order in which they were received.
///
/// The decoder reads bytes where they were received (``lend(_:)``), and only what it leaves is copied (``endLoan()``):
/// an idle connection holds no memory. New bytes go after those that wait, and the decoder takes bytes from the front,
/// so no byte can overtake another.
struct InputBuffer: ~Copyable {
    /// The bytes that are not decoded yet, in ``kept`` or lent. A decoder removes bytes from the front.
    var unread = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The memory of the bytes that were copied, which the buffer owns.
    private var kept: UnsafeMutableRawBufferPointer?

    var isEmpty: Bool { unread.isEmpty }

    init() {}

    deinit { kept?.deallocate() }

    /// Appends bytes that stay where they are until ``endLoan()``.
    mutating func lend(_ bytes: UnsafeMutableRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        guard !unread.isEmpty else {
            unread = bytes
            return
        }
        copy(bytes)
    }

    /// Copies the lent bytes that are left, because their memory will be used for other input.
    mutating func endLoan() {
        if unread.isEmpty { return removeAll() }
        if let kept, let start = unread.baseAddress, let first = kept.baseAddress, start >= first,
            start < first + kept.count
        {
            return
        }
        copy(UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }

    /// Drops everything and frees the memory.
    mutating func removeAll() {
        unread = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        kept?.deallocate()
        kept = nil
    }

    /// Copies the unread bytes, and more bytes after them, to memory of their own.
    private mutating func copy(_ more: UnsafeMutableRawBufferPointer) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: unread.count + more.count, alignment: 8)
        memory.copyMemory(from: UnsafeRawBufferPointer(unread))
        UnsafeMutableRawBufferPointer(rebasing: memory[unread.count...]).copyMemory(from: UnsafeRawBufferPointer(more))
        kept?.deallocate()
        kept = memory
        unread = memory
    }
}
