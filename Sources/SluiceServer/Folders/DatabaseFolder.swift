internal import Glibc
package import SluiceStorage

/// The databases of a data folder, for a command that manages them while a server runs or not.
package struct DatabaseFolder: Sendable {
    package let path: String

    /// - Throws: ``ServerError/Code/dataFolder`` if there is no such folder, or if it cannot be read.
    package init(_ path: String) throws(ServerError) {
        var status = stat()
        guard stat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFDIR : errno == EACCES else {
            throw ServerError(.dataFolder, "'\(path)' is no folder; name the one of the server's databases")
        }
        try DataFolder.checkReadable(path)
        self.path = path
    }

    /// The databases that have files, sorted.
    package var names: [String] { DataFolder.databaseNames(path).filter(DatabaseName.isValid) }

    /// Whether the folder is that of a node, whose databases are a cluster's.
    package var isOfCluster: Bool { access(path + "/server.cluster", F_OK) == 0 }

    /// What a database has. O(n) for its objects, which are counted.
    package func glance(_ name: String) throws -> DatabaseGlance { try DatabaseGlance(at: file(of: name)) }

    /// Deletes a database that nobody has open.
    ///
    /// - Returns: false if there is none.
    /// - Throws: ``StorageError``, with the code `locked` if a server has it open.
    package func remove(_ name: String) throws -> Bool { try DatabaseRemoval.remove(file(of: name)) }

    /// Which databases clients may open.
    package var restriction: RestrictionFile { RestrictionFile(inFolder: path) }

    func file(of name: String) -> String { "\(path)/\(DatabaseFileName.of(name))" }
}
