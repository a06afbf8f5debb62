package import SluiceModel

/// Writes a backup, member by member. The file appears under its name only when it is whole.
package final class BackupWriter {
    private let file: DraftFile
    private var manifest: BackupManifest
    private var time: Int { Int(manifest.time.microseconds / 1_000_000) }

    /// - Parameters:
    ///   - path: the file, which must not be there.
    ///   - server: the version of the program.
    /// - Throws: as ``DraftFile/init(_:)``.
    package init(_ path: String, server: String, time: Timestamp) throws(StorageError) {
        file = try DraftFile(path)
        manifest = BackupManifest(server: server, time: time)
        try add(BackupForm.title, Array(BackupForm.titleLine.utf8))
    }

    /// Adds a file.
    ///
    /// - Parameters:
    ///   - member: what it is; its lengths and digest are found out.
    ///   - path: the file, to which nobody writes.
    ///   - isCancelled: asked now and then whether the backup is still wanted.
    /// - Throws: ``StorageError/Code/cancelled`` if it is not.
    package func add(
        _ member: BackupMember, contentOf path: String, isCancelled: () -> Bool = { false }
    ) throws {
        var member = member
        let source = try StoredFile(path)
        let compressor = try LZ4Compressor()
        let sum = SHA256Stream()
        let header = file.byteCount
        try file.write([UInt8](repeating: 0, count: TarHeader.blockByteCount))
        func store(_ bytes: [UInt8]) throws {
            sum.add(bytes)
            try file.write(bytes)
        }
        try store(compressor.begin())
        try source.forEachPiece(in: 0..<source.byteCount) { piece in
            guard !isCancelled() else { throw StorageError(.cancelled, "the backup is not wanted any more") }
            try store(compressor.add(piece))
        }
        try store(compressor.end())
        member.byteCount = source.byteCount
        member.storedByteCount = file.byteCount - header - TarHeader.blockByteCount
        member.digest = sum.finish()
        try finish(TarHeader(name: member.name, byteCount: member.storedByteCount, time: time), at: header)
        manifest.members.append(member)
    }

    /// Ends the file and gives it its name, durably.
    package func finish() throws(StorageError) -> BackupManifest {
        let bytes = Array(manifest.json.utf8)
        try add(BackupForm.manifest, bytes)
        try add(BackupForm.sums, Array(BackupForm.sums(of: manifest, bytes).utf8))
        try file.write([UInt8](repeating: 0, count: BackupForm.endByteCount))
        try file.publish()
        return manifest
    }

    private func add(_ name: String, _ content: [UInt8]) throws(StorageError) {
        let header = file.byteCount
        try file.write([UInt8](repeating: 0, count: TarHeader.blockByteCount))
        try file.write(content)
        try finish(TarHeader(name: name, byteCount: content.count, time: time), at: header)
    }

    private func finish(_ header: TarHeader, at place: Int) throws(StorageError) {
        try file.rewrite(header.bytes, at: place)
        try file.write([UInt8](repeating: 0, count: header.paddedByteCount - header.byteCount))
    }
}
