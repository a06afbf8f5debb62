internal import Glibc
internal import SluiceModel
internal import SluiceStorage

/// The folder of an archive: a folder for each database, and a file that says up to when all of it is complete.
struct ArchiveFolder {
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
        guard let line = NoteFile(state).read(), line.hasPrefix(Self.title) else { return nil }
        return Timestamp(iso8601: line.dropFirst(Self.title.count))
    }

    /// Says up to when the archive is complete.
    func note(completeUntil time: Timestamp) { NoteFile(state).write("\(Self.title)\(time)") }
}
