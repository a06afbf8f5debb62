extension SHA256 {
    /// The first 128 bits of the digest of `bytes`, as an id.
    package static func truncatedID(of bytes: [UInt8]) -> ObjectID {
        let digest = digest(bytes)
        func word(_ offset: Int) -> UInt64 {
            digest[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        return ObjectID(high: word(0), low: word(8))
    }
}
