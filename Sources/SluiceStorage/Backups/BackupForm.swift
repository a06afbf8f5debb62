internal import SluiceModel

/// The form of a backup: a POSIX tar file. Its members are, in this order, a line with the format, a compressed file for
/// each database and for the users, the manifest, and the digests of all of them as `sha256sum` has them.
enum BackupForm {
    static let title = "sluice-backup"
    static let manifest = "manifest.json"
    static let sums = "SHA256SUMS"
    static let titleStart = "sluice backup, format "
    static let titleByteCountMax = 64
    static let manifestByteCountMax = 64 << 20
    /// The most members of a backup.
    static let memberCountMax = 200_000
    /// What ends a tar file.
    static let endByteCount = 2 * TarHeader.blockByteCount

    static var titleLine: String { "\(titleStart)\(BackupManifest.format)\n" }

    /// The digests of all members but the last.
    static func sums(of manifest: BackupManifest, _ manifestBytes: [UInt8]) -> String {
        let own = [
            (title, SHA256.digest(Array(titleLine.utf8))), (Self.manifest, SHA256.digest(manifestBytes)),
        ]
        let entries = [own[0]] + manifest.members.map { ($0.name, $0.digest) } + [own[1]]
        return entries.map { "\(Hexadecimal.encode($0.1))  \($0.0)\n" }.joined()
    }
}
