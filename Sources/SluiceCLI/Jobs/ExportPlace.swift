internal import FoundationEssentials
internal import Glibc
internal import Sluice
internal import SluiceModel

/// The file in which `sluice export --since` keeps how far it has come: a line that says what it is, and one with the
/// checkpoint in base64.
struct ExportPlace {
    private static let title = "sluice export 1"
    private static let byteCountMax = 1 << 20

    private let path: String
    /// Nil before the first export.
    let checkpoint: Checkpoint?

    /// - Throws: ``CommandError`` when the file is there and is none of these.
    init(_ path: String) throws {
        self.path = path
        guard access(path, F_OK) == 0 else {
            checkpoint = nil
            return
        }
        let text = try SmallFile.text(path, of: "--since", byteCountMax: Self.byteCountMax)
        let lines = text.split(separator: "\n")
        guard lines.count == 2, lines[0] == Self.title, let data = Data(base64Encoded: String(lines[1])) else {
            throw CommandError.failure(
                "--since: '\(path)' was not made by 'sluice export --since'; name another file, or remove it to begin anew"
            )
        }
        checkpoint = try Checkpoint(bytes: Array(data))
    }

    /// Stores how far an export has come, once what it has printed is on disk.
    func replace(by checkpoint: Checkpoint) throws {
        // A pipe or a terminal cannot be synced.
        if fsync(STDOUT_FILENO) != 0, errno != EINVAL, errno != EROFS, errno != ENOTSUP {
            throw CommandError.system("standard output cannot be synced, so '\(path)' was left as it is", code: errno)
        }
        let draft = path + ".part"
        let text = "\(Self.title)\n\(Data(checkpoint.bytes).base64EncodedString())\n"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw CommandError.system("--since: '\(draft)' cannot be written", code: errno) }
        defer { close(file) }
        var code = Array(text.utf8).withUnsafeBytes { SystemCall.writeAll($0, to: file) }
        if code == 0, fsync(file) != 0 { code = errno }
        if code == 0, rename(draft, path) != 0 { code = errno }
        guard code == 0 else {
            unlink(draft)
            throw CommandError.system("--since: '\(path)' cannot be replaced", code: code)
        }
    }
}
