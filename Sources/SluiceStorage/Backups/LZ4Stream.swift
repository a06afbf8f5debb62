internal import CLZ4

/// Compresses bytes that come in pieces into one LZ4 frame, as the program `lz4` has it, with a checksum of the content.
final class LZ4Compressor {
    private var context: OpaquePointer?
    private var preferences = LZ4F_preferences_t()
    private var buffer: [UInt8] = []

    init() throws(StorageError) {
        guard LZ4F_isError(LZ4F_createCompressionContext(&context, UInt32(LZ4F_VERSION))) == 0 else {
            throw StorageError(.io, "LZ4 cannot be used")
        }
        preferences.frameInfo.blockSizeID = LZ4F_max256KB
        preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled
    }

    deinit { LZ4F_freeCompressionContext(context) }

    func begin() throws(StorageError) -> [UInt8] {
        try step(room: 64) { LZ4F_compressBegin(context, $0, $1, &preferences) }
    }

    func add(_ bytes: [UInt8]) throws(StorageError) -> [UInt8] {
        try step(room: LZ4F_compressBound(bytes.count, &preferences)) {
            LZ4F_compressUpdate(context, $0, $1, bytes, bytes.count, nil)
        }
    }

    func end() throws(StorageError) -> [UInt8] {
        try step(room: LZ4F_compressBound(0, &preferences)) { LZ4F_compressEnd(context, $0, $1, nil) }
    }

    private func step(
        room: Int, _ body: (UnsafeMutableRawPointer?, Int) -> Int
    ) throws(StorageError) -> [UInt8] {
        if buffer.count < room { buffer = [UInt8](repeating: 0, count: room) }
        let count = buffer.withUnsafeMutableBytes { body($0.baseAddress, $0.count) }
        guard LZ4F_isError(count) == 0 else { throw StorageError(.io, "LZ4 cannot compress") }
        return Array(buffer[..<count])
    }
}

/// Decompresses one LZ4 frame that comes in pieces.
final class LZ4Decompressor {
    private var context: OpaquePointer?
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)
    /// Whether the frame has ended.
    private(set) var isWhole = false

    init() throws(StorageError) {
        guard LZ4F_isError(LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))) == 0 else {
            throw StorageError(.io, "LZ4 cannot be used")
        }
    }

    deinit { LZ4F_freeDecompressionContext(context) }

    /// Decompresses a piece.
    ///
    /// - Parameter body: called with what comes out, in pieces of a quarter of a mebibyte at most.
    /// - Throws: ``StorageError/Code/damaged`` if it is no frame, or something follows it; what `body` throws.
    func add(_ piece: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var place = 0
        var isFilled = false
        while place < piece.count || isFilled {
            guard !isWhole else { throw StorageError(.damaged, "something follows the compressed content") }
            var (taken, made) = (piece.count - place, buffer.count)
            let hint = piece.withUnsafeBytes { source in
                buffer.withUnsafeMutableBytes { target in
                    LZ4F_decompress(
                        context, target.baseAddress, &made, source.baseAddress.map { $0 + place }, &taken, nil)
                }
            }
            guard LZ4F_isError(hint) == 0 else { throw StorageError(.damaged, "the compressed content is damaged") }
            place += taken
            isFilled = made == buffer.count
            isWhole = hint == 0
            if isWhole, place == piece.count { isFilled = false }
            try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<made])) }
            guard taken > 0 || made > 0 || place == piece.count else {
                throw StorageError(.damaged, "the compressed content is damaged")
            }
            if taken == 0, made == 0 { break }
        }
    }
}
