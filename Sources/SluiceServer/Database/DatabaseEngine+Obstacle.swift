internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// What keeps a database from being written while it can be read: a disk that is full or may not be written.
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
    /// The file was opened for reading, and must be opened anew to be written.
    case sinceOpened(StorageError)
    /// The file was opened for reading, and can be written by now.
    case overcome

    var error: StorageError? {
        switch self {
        case .whileOpen(let error), .sinceOpened(let error): error
        case .none, .overcome: nil
        }
    }
}

extension DatabaseEngine {
    /// Notes that nothing can be written at the moment, if that is what an error says.
    ///
    /// - Returns: whether it does.
    func noteObstacle(_ error: any Error) -> Bool {
        guard let error = error as? StorageError, error.isObstacle else { return false }
        guard case .none = obstacle else { return true }
        obstacle = .whileOpen(error)
        log?(.error, "a database cannot be written", [("database", name), ("error", "\(error)")])
        return true
    }

    /// Notes that a commit has succeeded, so that what was held back may come.
    func noteCommit() {
        guard case .whileOpen = obstacle else { return }
        obstacle = .none
        recallHeldBack()
    }

    /// Tries whether the database can be written again.
    func probeObstacle() {
        guard obstacle.error != nil, storage.probe() == nil else { return }
        switch obstacle {
        case .whileOpen:
            obstacle = .none
            recallHeldBack()
        case .sinceOpened:
            obstacle = .overcome
            for id in sessions.keys.sorted() { recall(id) }
        case .none, .overcome: break
        }
    }

    private func recallHeldBack() {
        log?(.info, "a database can be written again", [("database", name)])
        for id in sessions.keys.sorted() where sessions[id]?.isHeldBack == true { recall(id) }
    }

    private func recall(_ id: SessionID) {
        guard let session = sessions[id] else { return }
        end(session, .internalError, "the server can write its database again", action: .retry)
    }

    /// Drops what a session uploads from now on, and says so once. What is not acknowledged, the client keeps.
    func holdBack(_ session: ServerSession, because error: StorageError) {
        guard !session.isHeldBack else { return }
        session.isHeldBack = true
        let message = Self.sentence(
            "the server cannot write its database, and takes uploads once it can", of: name, because: error)
        send(
            [.error(.init(session: session.id.session, code: .internalError, message: message, action: .report))],
            to: session.id)
    }
}
