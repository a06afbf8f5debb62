internal import SluiceStorage

/// What keeps a database from being written while it can be read: a disk that is full or may not be written, or a journal
/// that does not answer.
///
/// A file that cannot be written when it is opened is opened for reading. A commit that fails later for such a reason
/// leaves the database open. Either way the sessions go on: queries are answered, and uploads are neither stored nor
/// acknowledged, so that clients keep them. Once there is room the sessions that have uploads to send again are ended,
/// and come back.
enum WriteObstacle {
    /// Nothing is known to prevent writing.
    case none
    /// A commit failed. Each upload tries again.
    case whileOpen(StorageError)
    /// The journal that the database shares with other servers does not answer. Nothing is tried before it does.
    case silence(StorageError)
    /// The file was opened for reading, and must be opened anew to be written.
    case sinceOpened(StorageError)
    /// The file was opened for reading, and can be written by now.
    case overcome

    var error: StorageError? {
        switch self {
        case .whileOpen(let error), .silence(let error), .sinceOpened(let error): error
        case .none, .overcome: nil
        }
    }

    var isOvercome: Bool { if case .overcome = self { true } else { false } }
}
