internal import SluiceStorage

extension DatabaseEngine {
    /// What a client is told when the database cannot be read or written.
    static func unusable(because error: any Error) -> String {
        sentence("the server could not read or write its database", because: error)
    }

    /// What a client is told of a database that cannot be used: why, and nothing of files and folders.
    static func sentence(_ text: String, because error: any Error) -> String {
        guard let reason = (error as? StorageError)?.reason else { return text }
        return "\(text): \(reason)"
    }
}

extension StorageError {
    fileprivate var reason: String? {
        switch code {
        case .damaged: "it is damaged and has to be restored"
        case .vanished: "its files were removed, renamed or replaced; they have to be put back"
        case .newerFormat: "it was written by a newer version"
        case .foreignFile, .notADatabase: "the file of that name is no database of a server"
        case .locked: "another server has it open"
        case .tooManyFiles: "it has as many files open as its system allows"
        case .full: "no space is left on its disk"
        case .readOnly: "it may not be written"
        case .io: "its disk reported an error"
        default: nil
        }
    }
}
