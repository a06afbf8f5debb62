internal import Glibc
internal import SluiceModel
internal import SluiceStorage

/// The backups that a server has made in a folder: `sluice-YYYYMMDDTHHMMSSZ.backup`.
struct BackupFiles {
    /// A backup that is whole as far as its manifest says.
    struct File {
        let name: String
        let manifest: BackupManifest
    }

    private static let prefix = "sluice-"
    private static let suffix = ".backup"

    let folder: String

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// The name of a backup of a time.
    static func name(of time: Timestamp) -> String {
        let seconds = Timestamp(microseconds: time.microseconds / 1_000_000 * 1_000_000)
        return prefix + seconds.description.filter { $0 != "-" && $0 != ":" } + suffix
    }

    /// A name that no file has: that of the time, or of a second soon after it.
    func freeName(at time: Timestamp) -> String {
        var time = time
        while access(path(Self.name(of: time)), F_OK) == 0 {
            time = Timestamp(microseconds: time.microseconds + 1_000_000)
        }
        return Self.name(of: time)
    }

    /// Whether a name is one of a backup that a server has made.
    static func isOwn(_ name: String) -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
        let digits = Array(name.dropFirst(prefix.count).dropLast(suffix.count).utf8)
        guard digits.count == 16 else { return false }
        return digits.indices.allSatisfy { index in
            switch index {
            case 8: digits[index] == UInt8(ascii: "T")
            case 15: digits[index] == UInt8(ascii: "Z")
            default: (0x30...0x39).contains(digits[index])
            }
        }
    }

    /// The backups that are whole, from the oldest to the newest.
    ///
    /// - Parameter note: called with the name of each that cannot be read, and the reason.
    func all(_ note: (String, any Error) -> Void = { _, _ in }) -> [File] {
        DataFolder.names(in: folder, endingWith: "").filter(Self.isOwn).compactMap { name in
            do {
                let reader = try BackupReader(StoredFile(path(name)))
                return File(name: name, manifest: reader.manifest)
            } catch {
                note(name, error)
                return nil
            }
        }
    }

    /// Removes what killed processes have left of backups that they were making.
    func removeParts() {
        for name in DataFolder.names(in: folder, endingWith: "") {
            let copy = DraftFile.suffix + BackupMaker.copySuffix
            let parts = [DraftFile.suffix, copy, copy + "-journal"]
            guard let part = parts.first(where: name.hasSuffix), Self.isOwn(String(name.dropLast(part.count))) else {
                continue
            }
            ReplicaFile.remove(path(name))
        }
    }

    /// Removes all but the newest backups.
    ///
    /// - Returns: those that are left, from the oldest to the newest, and how many were removed.
    func prune(keeping count: Int, _ note: (String, any Error) -> Void) -> (kept: [File], removedCount: Int) {
        let files = all(note)
        let old = files.dropLast(count)
        for file in old { unlink(path(file.name)) }
        return (Array(files.suffix(count)), old.count)
    }
}
