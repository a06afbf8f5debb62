extension SHA256 {
    /// The first 128 bits of the digest of `bytes`, as an id.
    package static func truncatedID(of bytes: [UInt8]) -> ObjectID {
        bytes.withUnsafeBytes { truncatedID(of: $0) }
    }

    /// The first 128 bits of the digest of `bytes`, as an id.
    static func truncatedID(of bytes: UnsafeRawBufferPointer) -> ObjectID {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { digest in
            SHA256.digest(bytes, into: digest.baseAddress!)
            let words = UnsafeRawBufferPointer(digest)
            return ObjectID(
                high: UInt64(bigEndian: words.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: words.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}
