/// Keeps the bytes that wait for the kernel to accept them: regions of shared buffers, in order.
struct SendQueue {
    struct Chunk {
        var owner: SharedBuffer?
        var bytes: UnsafeRawBufferPointer
    }

    private var chunks: [Chunk] = []
    private var head = 0
    /// How many bytes the kernel has not accepted yet.
    private(set) var byteCount = 0

    var isEmpty: Bool { head == chunks.count }

    /// Appends the payload of a buffer.
    mutating func append(_ buffer: SharedBuffer) { append(buffer, buffer.bytes) }

    /// Appends a buffer as one unmasked frame.
    mutating func appendFrame(_ buffer: SharedBuffer) { append(buffer, buffer.frame) }

    private mutating func append(_ owner: SharedBuffer, _ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        chunks.append(Chunk(owner: owner, bytes: bytes))
        byteCount += bytes.count
    }

    /// The regions from the head on, at most `limit`.
    func prefix(_ limit: Int) -> ArraySlice<Chunk> { chunks[head...].prefix(limit) }

    /// Removes the first `count` bytes, and releases the buffers that have been written completely.
    mutating func consume(_ count: Int) {
        byteCount -= count
        var rest = count
        while rest > 0 {
            let length = chunks[head].bytes.count
            if rest < length {
                chunks[head].bytes = UnsafeRawBufferPointer(rebasing: chunks[head].bytes[rest...])
                return
            }
            rest -= length
            chunks[head].owner = nil
            head += 1
        }
        if head == chunks.count {
            chunks.removeAll(keepingCapacity: chunks.capacity <= 16)
            head = 0
        } else if head >= 64, head * 2 >= chunks.count {
            chunks.removeFirst(head)
            head = 0
        }
    }

    mutating func removeAll() { self = SendQueue() }
}
