internal import Glibc

/// What a file beside the segments of a database says of their end, so that who restores notices when the end is missing:
/// a copy of an archive may have been made in part. 64 bytes, written in place and not synced: what is lost with the power
/// makes the file say less than there is.
struct ArchiveNote: Hashable {
    private static let byteCount = 64
    private static let name = "/last"

    /// The last segment.
    let number: UInt64
    /// Its last group.
    let position: UInt64

    init(_ number: UInt64, _ position: UInt64) {
        self.number = number
        self.position = position
    }

    /// - Parameter folder: that of the segments.
    /// - Returns: nil if there is no such file.
    init?(in folder: String) {
        let file = open(folder + Self.name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        guard read(file, &bytes, bytes.count) == bytes.count else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 4, words[0] == "segment", words[2] == "group", let number = UInt64(words[1]),
            let position = UInt64(words[3])
        else { return nil }
        self.init(number, position)
    }

    func write(in folder: String) {
        let file = open(folder + Self.name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        var bytes = Array("segment \(number) group \(position)".utf8)
        bytes += [UInt8](repeating: UInt8(ascii: " "), count: Self.byteCount - 1 - bytes.count)
        bytes.append(UInt8(ascii: "\n"))
        _ = pwrite(file, bytes, bytes.count, 0)
    }
}
