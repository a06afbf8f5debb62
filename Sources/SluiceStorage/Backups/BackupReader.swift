internal import SluiceModel

/// Reads a backup. What it has is known before any of it is unpacked, and each member is compared with its digest.
package struct BackupReader {
    package let manifest: BackupManifest
    private let source: any StoredBytes
    /// Where the members of the manifest begin.
    private let places: [Int]

    /// Reads what a backup has. O(members).
    ///
    /// - Throws: ``StorageError/Code/notADatabase`` if the file is no backup, ``StorageError/Code/newerFormat`` if it is
    ///   one of a later program, ``StorageError/Code/damaged`` if it is torn, or not as it was written.
    package init(_ source: any StoredBytes) throws(StorageError) {
        self.source = source
        var scan = TarScan(source)
        // A backup that was cut to its first bytes is still one.
        let start = try source.read(at: 0, count: min(BackupForm.title.utf8.count, source.byteCount))
        guard !start.isEmpty, BackupForm.title.utf8.starts(with: start) else { throw Self.foreign(source) }
        guard let title = try scan.next(), title.header.name == BackupForm.title,
            title.header.byteCount <= BackupForm.titleByteCountMax
        else { throw Self.foreign(source) }
        let line = String(decoding: try scan.content(of: title), as: UTF8.self)
        guard line == BackupForm.titleLine else {
            guard line.hasPrefix(BackupForm.titleStart) else { throw Self.foreign(source) }
            throw StorageError(
                .newerFormat,
                "\(source.name) is a backup of a later format, '\(line.prefix { $0 != "\n" })'; this program reads up to "
                    + "\(BackupManifest.format). Update this program")
        }
        var members: [TarScan.Member] = []
        while let member = try scan.next() {
            members.append(member)
            guard members.count <= BackupForm.memberCountMax else {
                throw scan.altered("it has more than \(BackupForm.memberCountMax) members")
            }
        }
        guard let sums = members.popLast(), sums.header.name == BackupForm.sums,
            let listing = members.popLast(), listing.header.name == BackupForm.manifest,
            listing.header.byteCount <= BackupForm.manifestByteCountMax,
            sums.header.byteCount <= BackupForm.manifestByteCountMax
        else { throw scan.altered("it does not end with its manifest") }
        let bytes = try scan.content(of: listing)
        guard let manifest = BackupManifest(json: bytes) else { throw scan.altered("its manifest cannot be read") }
        guard try scan.content(of: sums) == Array(BackupForm.sums(of: manifest, bytes).utf8) else {
            throw scan.altered("its manifest is not as it was written")
        }
        let isListed = members.elementsEqual(manifest.members) { member, listed in
            member.header.name == listed.name && member.header.byteCount == listed.storedByteCount
        }
        guard isListed, Set(manifest.members.map(\.name)).count == members.count else {
            throw scan.altered("it does not have what its manifest says")
        }
        self.manifest = manifest
        places = members.map(\.place)
    }

    /// Unpacks a member.
    ///
    /// - Parameter body: called with the content in pieces; what it got counts only if this returns.
    /// - Throws: ``StorageError/Code/damaged`` if the member is not as it was written; what `body` throws.
    package func unpack(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let member = manifest.members[index]
        let sum = SHA256Stream()
        let decompressor = try LZ4Decompressor()
        var count = 0
        func refusal(_ what: String) -> StorageError {
            StorageError(.damaged, "\(source.name) was altered: \(member.name) \(what); use another backup")
        }
        do {
            try source.forEachPiece(in: places[index]..<places[index] + member.storedByteCount) { piece in
                sum.add(piece)
                try decompressor.add(piece) { bytes in
                    count += bytes.count
                    guard count <= member.byteCount else { throw StorageError(.damaged, "it is too long") }
                    try body(bytes)
                }
            }
        } catch let error as StorageError where error.code == .damaged {
            throw refusal("is not as it was written")
        }
        guard sum.finish() == member.digest, decompressor.isWhole, count == member.byteCount else {
            throw refusal("does not have the digest that the manifest says")
        }
    }

    /// Unpacks a member into a file, which is there and empty.
    ///
    /// - Parameter isCancelled: asked now and then whether to give up.
    /// - Throws: ``StorageError/Code/cancelled`` then.
    package func unpack(_ index: Int, into path: String, isCancelled: () -> Bool = { false }) throws {
        let file = try OutputFile(path)
        try unpack(index) { piece in
            guard !isCancelled() else { throw StorageError(.cancelled, "the backup is not wanted any more") }
            try file.write(piece)
        }
        try file.synchronize()
    }

    private static func foreign(_ source: any StoredBytes) -> StorageError {
        StorageError(.notADatabase, "\(source.name) is no backup of Sluice; name a file that 'sluice backup' has made")
    }
}

/// Goes through the members of a tar file.
private struct TarScan {
    struct Member {
        let header: TarHeader
        /// Where the content begins.
        let place: Int
    }

    private let source: any StoredBytes
    private var place = 0

    init(_ source: any StoredBytes) { self.source = source }

    /// The next member; nil at the end of the file.
    mutating func next() throws(StorageError) -> Member? {
        guard source.byteCount - place >= TarHeader.blockByteCount else { throw torn }
        let block = try source.read(at: place, count: TarHeader.blockByteCount)
        if block.allSatisfy({ $0 == 0 }) {
            let rest = source.byteCount - place
            guard rest >= BackupForm.endByteCount else { throw torn }
            guard rest == BackupForm.endByteCount,
                try source.read(at: place, count: rest).allSatisfy({ $0 == 0 })
            else { throw altered("something follows its end") }
            return nil
        }
        guard let header = TarHeader(block) else {
            throw altered("byte \(place) and those that follow are no header of a member")
        }
        let start = place + TarHeader.blockByteCount
        guard header.paddedByteCount <= source.byteCount - start else { throw torn }
        place = start + header.paddedByteCount
        let padding = try source.read(
            at: start + header.byteCount, count: header.paddedByteCount - header.byteCount)
        guard padding.allSatisfy({ $0 == 0 }) else { throw altered("something is between its members") }
        return Member(header: header, place: start)
    }

    func content(of member: Member) throws(StorageError) -> [UInt8] {
        try source.read(at: member.place, count: member.header.byteCount)
    }

    private var torn: StorageError {
        StorageError(
            .damaged,
            "\(source.name) is torn: it ends after \(source.byteCount) bytes, before its end; use another backup")
    }

    func altered(_ what: String) -> StorageError {
        StorageError(.damaged, "\(source.name) was altered: \(what); use another backup")
    }
}
