/// Memory for the texts and blobs of one run of a statement. Pointers into it stay valid until ``removeAll()``.
struct BindingArena: ~Copyable {
    private static let blockSize = 16_384
    private var block: UnsafeMutableRawPointer?
    private var used = 0
    /// Values that did not fit the block.
    private var large: [UnsafeMutableRawPointer] = []

    deinit {
        block?.deallocate()
        for pointer in large { pointer.deallocate() }
    }

    /// A copy of the bytes, never nil.
    mutating func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer? {
        let target: UnsafeMutableRawPointer
        if used + bytes.count <= Self.blockSize {
            if block == nil { block = .allocate(byteCount: Self.blockSize, alignment: 16) }
            target = block! + used
            used += bytes.count
        } else {
            target = .allocate(byteCount: bytes.count, alignment: 16)
            large.append(target)
        }
        if let source = bytes.baseAddress { target.copyMemory(from: source, byteCount: bytes.count) }
        return target
    }

    mutating func removeAll() {
        used = 0
        guard !large.isEmpty else { return }
        for pointer in large { pointer.deallocate() }
        large.removeAll()
    }
}
