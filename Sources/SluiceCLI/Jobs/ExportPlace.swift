internal import FoundationEssentials
internal import Glibc
internal import Sluice
internal import SluiceModel

/// The file in which `sluice export --since` keeps how far it has come: a line that says what it is, one with the
/// checkpoint in base64, and one each with the class and the database that were exported. Files of earlier builds do not
/// have the last two.
struct ExportPlace {
    private static let title = "sluice export 1"
    private static let byteCountMax = 1 << 20

    private let path: String
    /// Where the file is, if the path is a symbolic link.
    private let place: String
    private let className: String
    private let url: String
    /// Nil before the first export.
    let checkpoint: Checkpoint?
    /// What the file says that it is of.
    private let origin: (className: String, url: String)?

    /// - Parameters:
    ///   - className: the class that is exported.
    ///   - url: the database.
    /// - Throws: ``CommandError`` when the file is there and is none of these, when it is of another class, or when it
    ///   cannot be written.
    init(_ path: String, of className: String, in url: String) throws {
        self.path = path
        place = LinkedFile.behindLinks(path)
        self.className = className
        self.url = url
        // What is printed is of no use where the place cannot be kept.
        guard access(LinkedFile.folder(of: place), W_OK) == 0 else {
            throw CommandError.system("--since: '\(path)' cannot be written", code: errno)
        }
        guard access(place, F_OK) == 0 else {
            (checkpoint, origin) = (nil, nil)
            return
        }
        let text = try SmallFile.text(path, of: "--since", byteCountMax: Self.byteCountMax)
        let lines = text.split(separator: "\n")
        guard lines.count == 2 || lines.count == 4, lines[0] == Self.title,
            let data = Data(base64Encoded: String(lines[1]))
        else {
            throw CommandError.failure(
                "--since: '\(path)' was not made by 'sluice export --since'; name another file, or remove it to begin anew"
            )
        }
        checkpoint = try Checkpoint(bytes: Array(data))
        origin = lines.count == 4 ? (String(lines[2]), String(lines[3])) : nil
        if let origin, origin.className != className { throw foreign }
    }

    /// Why the file cannot be used for this export.
    var foreign: CommandError {
        let made =
            origin.map { origin in
                let isOfSamePlace = origin == (className, url)
                return isOfSamePlace
                    ? "is of another database, which was at \(url) before"
                    : "is of the export of \(origin.className) from \(origin.url)"
            } ?? "is of another export"
        return .failure(
            "--since: '\(path)' \(made), and not of \(className) from \(url): name the file of this one, or one "
                + "that is not there to begin with everything")
    }

    /// Stores how far an export has come, once what it has printed is on disk.
    func replace(by checkpoint: Checkpoint) throws {
        // A pipe or a terminal cannot be synced.
        if fsync(STDOUT_FILENO) != 0, errno != EINVAL, errno != EROFS, errno != ENOTSUP {
            throw CommandError.system("standard output cannot be synced, so '\(path)' was left as it is", code: errno)
        }
        let draft = place + ".part"
        let text = "\(Self.title)\n\(Data(checkpoint.bytes).base64EncodedString())\n\(className)\n\(url)\n"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw CommandError.system("--since: '\(draft)' cannot be written", code: errno) }
        defer { close(file) }
        var code = Array(text.utf8).withUnsafeBytes { SystemCall.writeAll($0, to: file) }
        if code == 0, fsync(file) != 0 { code = errno }
        if code == 0, rename(draft, place) != 0 { code = errno }
        guard code == 0 else {
            unlink(draft)
            throw CommandError.system("--since: '\(path)' cannot be replaced", code: code)
        }
    }
}
