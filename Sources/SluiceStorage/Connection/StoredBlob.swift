internal import SluiceWire

/// Binary forms in stored blobs. A store's own bytes are trusted for size, not for shape.
enum StoredBlob {
    /// A blob is at most a gigabyte, SQLite's limit, and so is what it decodes to.
    private static let limits = WireLimits(
        frameLengthMax: 1 << 30, expandedLengthMax: 1 << 30, elementCountMax: 1 << 30, nestingDepthMax: 64)

    /// Decodes a whole blob.
    ///
    /// - Parameters:
    ///   - file: the store, as messages name it.
    ///   - what: what the blob holds.
    static func decode<Result>(
        _ bytes: [UInt8], file: String, what: String, _ body: (inout ByteReader) throws(WireError) -> Result
    ) throws(StorageError) -> Result {
        do throws(WireError) {
            return try ByteReader.decode(bytes, limits: limits, body)
        } catch {
            throw .damaged(file, "\(what) cannot be read: \(error)")
        }
    }

    static func decode<Decoded: WireCodable>(
        _ type: Decoded.Type, from bytes: [UInt8], file: String, what: String
    ) throws(StorageError) -> Decoded {
        try decode(bytes, file: file, what: what) { reader throws(WireError) in try Decoded(from: &reader) }
    }
}
