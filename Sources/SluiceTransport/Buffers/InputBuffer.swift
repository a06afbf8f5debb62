/// Keeps the bytes that have come and are not decoded yet, in the order in which they came.
///
/// Bytes are lent while they are decoded and copied only when some must wait: an idle connection holds no memory.
/// ``lend(_:)`` puts bytes behind those that wait, and a decoder takes from the front, so nothing can overtake.
struct InputBuffer: ~Copyable {
    /// What is not decoded yet. A decoder removes bytes from the front.
    var unread = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// The memory of the bytes that were copied.
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

    /// Copies what is left of lent bytes, whose memory serves others from now on.
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

    /// Moves what is unread, and more bytes behind it, to memory of its own.
    private mutating func copy(_ more: UnsafeMutableRawBufferPointer) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: unread.count + more.count, alignment: 8)
        memory.copyMemory(from: UnsafeRawBufferPointer(unread))
        UnsafeMutableRawBufferPointer(rebasing: memory[unread.count...]).copyMemory(from: UnsafeRawBufferPointer(more))
        kept?.deallocate()
        kept = memory
        unread = memory
    }
}
