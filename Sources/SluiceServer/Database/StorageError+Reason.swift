internal import SluiceStorage

extension DatabaseEngine {
    /// The message to clients when the database cannot be read or written.
    func unusable(because error: any Error) -> String {
        Self.sentence("the server could not read or write its database", of: name, because: error)
    }

    /// The message to clients about a database that cannot be used. It gives the reason, but no names of folders.
    ///
    /// - Parameter name: the name of the database.
    static func sentence(_ text: String, of name: String, because error: any Error) -> String {
        guard let error = error as? StorageError else { return text }
        if error.isOfDamage { return "\(text): \(damage(of: name, error)); it has to be restored from a backup" }
        return error.reason.map { "\(text): \($0)" } ?? text
    }
}

extension StorageError {
    fileprivate var reason: String? {
        switch code {
        case .vanished: "its files were removed, renamed or replaced; they have to be put back"
        case .newerFormat: "it was written by a newer version"
        case .foreignFile: "the file of that name is no database of a server"
        case .locked: "another server has it open"
        case .tooManyFiles: "it has as many files open as its system allows"
        case .full: "no space is left on its disk"
        case .readOnly: "it may not be written"
        case .io: "its disk reported an error"
        default: nil
        }
    }
}
