/// Folders, durably.
package enum StoredFolder {
    /// The folder that a path is in.
    package static func parent(of path: String) -> String {
        var path = path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return DatabaseFile.folder(of: path)
    }

    /// Makes durable which names a folder has.
    package static func synchronize(_ path: String) throws(StorageError) { try DatabaseFile.synchronize(path) }
}
