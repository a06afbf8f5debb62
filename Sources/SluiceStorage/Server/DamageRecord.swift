internal import Glibc

/// A small file beside a database that says that the database is damaged: what is damaged cannot say so itself.
///
/// It names the state of the file that it is about, so that a backup that was put in its place is looked at anew.
struct DamageRecord {
    private static let title =
        "The database beside this file is damaged, and nothing is written to it. Restore it from a "
        + "backup; this file is removed when the database is opened and whole."
    private static let byteCountMax = 4_096

    private let database: String
    private let path: String

    /// - Parameter database: the path of the database's file.
    init(besides database: String) {
        self.database = database
        path = database + "-damage"
    }

    /// What is wrong; nil without a record. One that cannot be read says that something is.
    func read() -> String? {
        guard let lines else { return nil }
        return lines.count > 1 ? lines[1] : "it was found damaged earlier"
    }

    /// Whether the database's file is not as it was when the record was written.
    var isOfAnotherState: Bool {
        guard let lines, lines.count > 2 else { return true }
        return lines[2] != state
    }

    /// Writes the record. Where that fails, damage has to be met again after the database was opened anew.
    func write(_ reason: String) {
        let text = [Self.title, reason.replacing("\n", with: " "), state, ""].joined(separator: "\n")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(text.utf8.prefix(Self.byteCountMax))
        _ = Glibc.write(descriptor, bytes, bytes.count)
        fsync(descriptor)
    }

    func remove() { unlink(path) }

    /// The lines of the record; nil if there is none.
    private var lines: [String]? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.byteCountMax)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// What changes when the database's file is replaced or written.
    private var state: String {
        var status = stat()
        guard stat(database, &status) == 0 else { return "missing" }
        return "file \(status.st_ino), \(status.st_size) bytes, of \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }
}
