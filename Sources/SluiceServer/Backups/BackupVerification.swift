internal import Glibc
internal import SluiceModel
package import SluiceStorage

/// Looks whether a backup is whole: its digests, each database's pages, and the chain of its log.
package struct BackupVerification {
    /// A member that was found whole.
    package enum Finding: Sendable {
        case database(BackupMember.DatabaseState, DatabaseCheck, byteCount: Int)
        case users(Int)
    }

    package let manifest: BackupManifest
    private let reader: BackupReader
    private let path: String

    /// Reads what a backup has.
    ///
    /// - Throws: as ``BackupReader/init(_:)``.
    package init(_ path: String) throws {
        self.path = path
        reader = try BackupReader(try StoredFile(path))
        manifest = reader.manifest
    }

    /// Unpacks each member into a folder of its own, which is removed again, and checks it. O(n). Others may check the same
    /// backup meanwhile.
    ///
    /// - Parameters:
    ///   - place: where the folder is made; nil for beside the backup.
    ///   - isCancelled: asked now and then whether to give up.
    ///   - report: called after each member.
    /// - Throws: ``StorageError`` with the reason why the backup cannot be used.
    package func run(
        in place: String?, isCancelled: @escaping () -> Bool = { false }, report: (Finding) -> Void
    ) throws {
        let folder = try WorkFolder.any(of: place.map { $0 + "/sluice-verify" } ?? path + ".verify")
        for (index, member) in manifest.members.enumerated() {
            let copy = "\(folder.path)/copy"
            defer { ReplicaFile.remove(copy) }
            try reader.unpack(index, into: copy, isCancelled: isCancelled)
            if let database = member.database {
                let check = try DatabaseCheck(copy, is: database, isCancelled: isCancelled)
                report(.database(database, check, byteCount: member.byteCount))
            } else {
                report(.users(try DatabaseCheck.userCount(copy)))
            }
        }
    }
}
