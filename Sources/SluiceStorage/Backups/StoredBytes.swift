internal import Glibc

/// Bytes that are read by their places: those of a file, or of an array.
package protocol StoredBytes {
    /// How messages name them.
    var name: String { get }
    var byteCount: Int { get }

    /// Reads bytes.
    ///
    /// - Parameters:
    ///   - place: where they begin, from 0.
    ///   - count: how many there are to be; not more than there are from the place on.
    /// - Throws: ``StorageError`` if there are fewer, or if they cannot be read.
    func read(at place: Int, count: Int) throws(StorageError) -> [UInt8]
}

extension StoredBytes {
    /// Calls `body` with a range of the bytes in pieces of a mebibyte at most.
    package func forEachPiece(in range: Range<Int>, _ body: ([UInt8]) throws -> Void) throws {
        var place = range.lowerBound
        while place < range.upperBound {
            let piece = try read(at: place, count: min(1 << 20, range.upperBound - place))
            try body(piece)
            place += piece.count
        }
    }

    func checkRange(at place: Int, count: Int) throws(StorageError) {
        guard place >= 0, count >= 0, place <= byteCount, count <= byteCount - place else {
            throw StorageError(
                .damaged, "\(name) ends after \(byteCount) bytes, and should have \(count) from byte \(place) on")
        }
    }
}

/// The bytes of a file that is read.
package final class StoredFile: StoredBytes {
    package let name: String
    package let byteCount: Int
    private let descriptor: Int32

    /// Opens a file. Its size counts as it is now.
    ///
    /// - Throws: ``StorageError`` if it cannot be opened, or is no regular file.
    package init(_ path: String) throws(StorageError) {
        name = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ENOENT else {
                throw StorageError(.notFound, "\(path) does not exist; name a file that does")
            }
            throw .system(errno, doing: "opening", path: path)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw StorageError(.misuse, "\(path) is no regular file; name one")
        }
        byteCount = Int(status.st_size)
    }

    deinit { close(descriptor) }

    package func read(at place: Int, count: Int) throws(StorageError) -> [UInt8] {
        try checkRange(at: place, count: count)
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let result = pread(descriptor, buffer.baseAddress! + filled, count - filled, off_t(place + filled))
                if result < 0, errno == EINTR { continue }
                if result < 0 { failure = errno }
                guard result > 0 else { return }
                filled += result
            }
        }
        guard failure == 0 else { throw .system(failure, doing: "reading", path: name) }
        guard bytes.count == count else {
            throw StorageError(.damaged, "\(name) became shorter while it was read")
        }
        return bytes
    }
}

/// The bytes of an array.
package struct StoredArray: StoredBytes {
    package let name: String
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8], name: String = "the bytes") {
        self.bytes = bytes
        self.name = name
    }

    package var byteCount: Int { bytes.count }

    package func read(at place: Int, count: Int) throws(StorageError) -> [UInt8] {
        try checkRange(at: place, count: count)
        return Array(bytes[place..<place + count])
    }
}
