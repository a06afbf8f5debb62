internal import Glibc
internal import SluiceModel

/// What the marker beside a database says: that the database exists, and what it held last.
///
/// SQLite makes a database where there is none, takes an empty file for a new database, and takes a missing write-ahead
/// log for an empty one. With the marker such a loss is noticed when the file is opened.
struct BirthMarker: Hashable {
    /// Nil where the database has no id, as a client's store.
    var databaseID: ObjectID?
    /// How much the database had committed, as it counts: a later commit has a higher number.
    var commitCount: UInt64 = 0
    /// Whether commits may be in the write-ahead log alone. Once the database was closed in order, all are in its file.
    var isOpen = false
    /// The start of the system during which this was written. A power cut may take commits that were not synced.
    var boot = ""

    /// The size of a marker file: one sector, which a disk writes whole or not at all.
    static let byteCount = 512

    private static let title = "A database of Sluice is beside this file. To remove the database, remove this file too."

    /// The text of the file, padded to ``byteCount``.
    var bytes: [UInt8] {
        var lines = [Self.title]
        if let databaseID { lines.append("database \(databaseID)") }
        lines += ["commits \(commitCount)", "open \(isOpen)", "boot \(boot)", "end", ""]
        var bytes = Array(lines.joined(separator: "\n").utf8.prefix(Self.byteCount - 1))
        bytes += [UInt8](repeating: UInt8(ascii: " "), count: Self.byteCount - 1 - bytes.count)
        return bytes + [UInt8(ascii: "\n")]
    }

    init(databaseID: ObjectID?) { self.databaseID = databaseID }

    /// Reads the text of a file; nil if it is not whole.
    static func parse(_ bytes: [UInt8]) -> BirthMarker? {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.first.map(String.init) == title, lines.contains("end") else { return nil }
        func value(_ name: String) -> String? {
            lines.first { $0.hasPrefix(name + " ") }.map { String($0.dropFirst(name.count + 1)) }
        }
        guard let commits = value("commits").flatMap({ UInt64($0) }) else { return nil }
        let id = value("database")
        var marker = BirthMarker(databaseID: id.flatMap { ObjectID($0) })
        guard (marker.databaseID == nil) == (id == nil) else { return nil }
        marker.commitCount = commits
        marker.isOpen = value("open") == "true"
        marker.boot = value("boot") ?? ""
        return marker
    }

    /// Names the running start of the system; empty where the system does not say.
    static let currentBoot: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 36)
        let count = read(descriptor, &bytes, bytes.count)
        return count == bytes.count ? String(decoding: bytes, as: UTF8.self) : ""
    }()
}

/// The marker's file, open for as long as the database is.
final class MarkerFile {
    /// What is known of a database before it is opened.
    enum Finding {
        /// There is no marker: the database is new, or its file was copied without the marker.
        case none
        /// The marker cannot be read, but it is there, so the database must be too.
        case unreadable
        case marker(BirthMarker)
    }

    private let descriptor: Int32
    private(set) var content: BirthMarker

    /// Reads the marker of a database.
    ///
    /// - Throws: ``StorageError/Code/tooManyFiles`` when it could not be looked for.
    static func find(_ path: DatabasePath) throws(StorageError) -> Finding {
        let descriptor = Glibc.open(path.marker, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            // A marker that cannot be looked for just now is neither there nor missing.
            guard code != EMFILE, code != ENFILE else {
                throw .system(code, doing: "opening the marker", path: path.marker)
            }
            return code == ENOENT || code == ENOTDIR ? .none : .unreadable
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: BirthMarker.byteCount)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count > 0, let marker = BirthMarker.parse(Array(bytes.prefix(count))) else { return .unreadable }
        return .marker(marker)
    }

    private init(descriptor: Int32, content: BirthMarker) {
        self.descriptor = descriptor
        self.content = content
    }

    /// Opens the marker to be written, or makes it durably.
    static func open(_ path: DatabasePath, content: BirthMarker, isNew: Bool) throws(StorageError) -> MarkerFile {
        let descriptor = Glibc.open(path.marker, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(errno, doing: "making the marker", path: path.marker) }
        let file = MarkerFile(descriptor: descriptor, content: content)
        guard isNew else { return file }
        let code = file.write()
        guard code == 0 else { throw .system(code, doing: "writing the marker", path: path.marker) }
        guard fsync(descriptor) == 0 else { throw .system(errno, doing: "syncing the marker", path: path.marker) }
        try DatabaseFile.synchronize(DatabaseFile.folder(of: path.marker))
        return file
    }

    deinit { close(descriptor) }

    /// Notes what the database has durably committed. Not synced: what is lost with the power makes the marker say less
    /// than there is, never more.
    ///
    /// Nothing depends on whether it succeeds but how much of a later loss is noticed.
    func note(commitCount: UInt64, isOpen: Bool) {
        guard content.commitCount != commitCount || content.isOpen != isOpen else { return }
        content.commitCount = commitCount
        content.isOpen = isOpen
        content.boot = BirthMarker.currentBoot
        _ = write()
    }

    /// - Returns: 0, or the system's error code.
    private func write() -> Int32 {
        let bytes = content.bytes
        let count = pwrite(descriptor, bytes, bytes.count, 0)
        return count == bytes.count ? 0 : count < 0 ? errno : ENOSPC
    }
}
