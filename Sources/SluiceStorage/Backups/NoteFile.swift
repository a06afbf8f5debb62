internal import Glibc

/// A file with one line that is written anew again and again: 64 bytes, written in place and not synced. What is lost with
/// the power makes it say less than there is, and no reader sees a part of a line.
package struct NoteFile {
    private static let byteCount = 64

    let path: String

    package init(_ path: String) { self.path = path }

    /// The line; nil if there is no such file.
    package func read() -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        guard Glibc.read(file, &bytes, bytes.count) == bytes.count,
            let end = bytes.lastIndex(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") })
        else { return nil }
        return String(decoding: bytes[...end], as: UTF8.self)
    }

    /// Writes the line, if that is possible.
    ///
    /// - Parameter line: less than 64 bytes.
    package func write(_ line: String) {
        var bytes = Array(line.utf8)
        precondition(bytes.count < Self.byteCount, "a note has less than \(Self.byteCount) bytes")
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        bytes += [UInt8](repeating: UInt8(ascii: " "), count: Self.byteCount - 1 - bytes.count)
        bytes.append(UInt8(ascii: "\n"))
        _ = pwrite(file, bytes, bytes.count, 0)
    }
}
