/// Memory for the texts and blobs of one run of a statement. Pointers into it stay valid until ``removeAll()``.
struct BindingArena: ~Copyable {
    private static let blockSize = 16_384
    private var block: UnsafeMutableRawPointer?
    private var used = 0
    /// Blocks that are full, and values that fit none.
    private var others: [UnsafeMutableRawPointer] = []

    deinit {
        block?.deallocate()
        for pointer in others { pointer.deallocate() }
    }

    /// A copy of the bytes, never nil.
    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer? {
        let target: UnsafeMutableRawPointer
        if bytes.count > Self.blockSize / 4 {
            target = .allocate(byteCount: bytes.count, alignment: 16)
            others.append(target)
        } else {
            if let block, used + bytes.count > Self.blockSize {
                others.append(block)
                self.block = nil
            }
            if block == nil {
                block = .allocate(byteCount: Self.blockSize, alignment: 16)
                used = 0
            }
            target = block! + used
            used += bytes.count
        }
        if let source = bytes.baseAddress { target.copyMemory(from: source, byteCount: bytes.count) }
        return target
    }

    mutating func removeAll() {
        used = 0
        guard !others.isEmpty else { return }
        for pointer in others { pointer.deallocate() }
        others.removeAll()
    }
}
