/// A sliding window over a ``ByteSource``, which holds the bytes that are not consumed yet in one piece.
final class RecordBuffer {
    /// The maximum size of a record, in bytes.
    static let recordSizeMax = 1 << 28

    let source: ByteSource
    /// Owned by the buffer, which frees it when it grows and when it ends.
    private var storage: UnsafeMutableBufferPointer<UInt8>
    private var start = 0
    private var end = 0
    private(set) var isAtEnd = false

    init(_ source: ByteSource, capacity: Int = 1 << 20) {
        self.source = source
        storage = .allocate(capacity: capacity)
    }

    deinit { storage.deallocate() }

    /// The bytes that are not consumed yet. Valid until ``refill()``.
    var bytes: UnsafeMutableBufferPointer<UInt8> { UnsafeMutableBufferPointer(rebasing: storage[start..<end]) }

    func consume(_ count: Int) { start += count }

    /// Reads more bytes after those that are there, and sets `isAtEnd` at the end of the source. If nothing was
    /// consumed, the buffer doubles, so that searching a long record again after each refill takes linear time.
    func refill() throws(CommandError) {
        if start > 0 {
            let count = end - start
            if count > 0 { storage.baseAddress!.update(from: storage.baseAddress! + start, count: count) }
            start = 0
            end = count
        }
        if end == storage.count { try grow() }
        while end < storage.count, !isAtEnd {
            let count = try source.read(
                into: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: storage[end...])))
            end += count
            isAtEnd = count == 0
        }
    }

    private func grow() throws(CommandError) {
        guard storage.count < Self.recordSizeMax else {
            throw .failure("\(source.path): a record is longer than \(Self.recordSizeMax >> 20) MiB")
        }
        let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: storage.count * 2)
        _ = larger.update(fromContentsOf: storage[..<end])
        storage.deallocate()
        storage = larger
    }
}
