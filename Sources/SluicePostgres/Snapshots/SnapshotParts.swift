#if PostgreSQL

internal import Glibc
internal import SluiceStorage

/// A file in parts, each compressed as the records of a journal are.
enum SnapshotParts {
    /// The size of a part before it is compressed, in bytes.
    private static let byteCount = 4 << 20

    /// Calls `body` with each part of a file, and with its size before it was compressed. One part is in memory at a time.
    ///
    /// - Throws: ``StorageError/Code/io`` if the file cannot be read; what `body` throws.
    static func forEach(of path: String, _ body: (_ part: [UInt8], _ byteCount: Int) throws -> Void) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure("read", path) }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: byteCount)
        while true {
            var filled = 0
            while filled < byteCount {
                let count = buffer.withUnsafeMutableBytes { bytes in
                    read(file, bytes.baseAddress?.advanced(by: filled), byteCount - filled)
                }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw failure("read", path) }
                if count == 0 { break }
                filled += count
            }
            if filled == 0 { return }
            try body(RecordBytes.pack(Array(buffer[..<filled])), filled)
        }
    }

    /// Writes a file from its parts.
    ///
    /// - Parameters:
    ///   - byteCount: the size that the file has at the end.
    ///   - part: the part with a number, counted from 0.
    /// - Throws: ``StorageError/Code/journal`` if the parts are not those of a file of this size;
    ///   ``StorageError/Code/io`` or ``StorageError/Code/full`` if the file cannot be written.
    static func write(to path: String, byteCount: Int, part: (Int) throws -> [UInt8]) throws {
        let file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard file >= 0 else { throw failure("written", path) }
        defer { close(file) }
        var (number, written) = (0, 0)
        while written < byteCount {
            let bytes = try RecordBytes.unpack(part(number))
            guard !bytes.isEmpty, written + bytes.count <= byteCount else {
                throw StorageError(.journal, "part \(number) of a snapshot does not fit its \(byteCount) bytes")
            }
            try append(bytes, to: file, path)
            written += bytes.count
            number += 1
        }
    }

    private static func append(_ bytes: [UInt8], to file: Int32, _ path: String) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(file, $0.baseAddress?.advanced(by: done), bytes.count - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("written", path) }
            done += count
        }
    }

    private static func failure(_ what: String, _ path: String) -> StorageError {
        let code: StorageError.Code = [ENOSPC, EDQUOT].contains(errno) ? .full : .io
        return StorageError(code, "\(path) cannot be \(what): \(String(cString: strerror(errno)).lowercased())")
    }
}

#endif
