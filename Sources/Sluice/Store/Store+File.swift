internal import SluiceStorage

/// The store's file: its size, and copies.
extension Store {
    /// What the store takes on disk, in bytes: its file, the write-ahead log and its index. For a store in memory, its
    /// pages. It waits for an open write.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func size() throws -> Int { try core.performAndWait { try $0.byteCount } }

    /// Writes the store to a new file, compacted. Reading goes on meanwhile; writes wait. O(size).
    ///
    /// The file appears under its name only when it is whole and on disk: nothing half made is left there if the process
    /// or the system ends on the way, or if it fails. No credentials are in it. Objects are in it as far as they are in
    /// this store, what its user may read included, so ship only what everybody may have.
    ///
    /// - Parameters:
    ///   - path: the new file; its folder must exist.
    ///   - kind: what the copy is for.
    /// - Throws: ``StoreError/Code/fileExists`` if there is a file; ``StoreError/Code/notUploaded`` for a synced copy
    ///   of a store with writes that the server has not confirmed, since every copy would upload them again: wait for
    ///   ``uploaded(timeout:)``; ``StoreError/Code/full`` and other codes when the file cannot be written.
    public func writeCopy(to path: String, as kind: StoreCopy = .local) async throws {
        try await core.perform { try $0.writeCopy(to: path, as: kind) }
    }
}
