internal import Glibc
internal import SluiceModel

/// The folder of an archive: a folder for each database, and a file that says up to when all of it is complete.
struct ArchiveFolder {
    private static let byteCount = 64
    private static let title = "complete until "

    let path: String

    func folder(of database: String) -> String { "\(path)/\(database)" }

    /// The databases that the archive has something of, sorted.
    var databaseNames: [String] {
        DataFolder.names(in: path, endingWith: "").filter { name in
            !DataFolder.names(in: folder(of: name), endingWith: ".segment").isEmpty
        }
    }

    private var state: String { path + "/archive.state" }

    /// Whether the folder is one of an archive.
    var isArchive: Bool { access(path + "/archive.owner", F_OK) == 0 || access(state, F_OK) == 0 }

    /// Up to when the archive is complete; nil if it does not say.
    var completeUntil: Timestamp? {
        let file = open(state, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        guard read(file, &bytes, bytes.count) == bytes.count else { return nil }
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard line.hasPrefix(Self.title) else { return nil }
        return Timestamp(iso8601: line.dropFirst(Self.title.count))
    }

    /// Says up to when the archive is complete, in place. It is not synced: what is lost with the power makes the file say
    /// less than there is.
    func note(completeUntil time: Timestamp) {
        let file = open(state, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        var bytes = Array("\(Self.title)\(time)\n".utf8)
        bytes += [UInt8](repeating: UInt8(ascii: " "), count: Self.byteCount - 1 - bytes.count)
        bytes.append(UInt8(ascii: "\n"))
        _ = pwrite(file, bytes, bytes.count, 0)
    }
}
