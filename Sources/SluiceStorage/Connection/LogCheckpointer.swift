internal import Dispatch
internal import Synchronization

/// Moves committed pages from a database's write-ahead log into its file, beside the connection that commits: a
/// checkpoint syncs the file, and a commit would wait for that.
///
/// It has a connection of its own while it works, and no open file otherwise. It prevents nobody from reading or
/// writing, and gets as far as no reader is in the way; once all pages are moved and nobody reads them in the log, the
/// next commit begins the log anew. Where that does not succeed for long, whoever commits moves the pages; see
/// ``SQLiteConnection/boundLog(to:)``.
final class LogCheckpointer: Sendable {
    private enum State {
        /// - attempt: the length of the log, in pages, from which on it works the next time.
        case idle(attempt: Int)
        case working(attempt: Int)
        case closed
    }

    private let path: String
    private let identity: FileIdentity?
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "sluice.checkpoint", qos: .utility)

    /// - Parameters:
    ///   - path: the database's file, which is open.
    ///   - pageCount: from how many pages on the log is moved for the first time.
    init(path: String, after pageCount: Int) {
        self.path = path
        identity = FileIdentity(path: path)
        state = Mutex(.idle(attempt: pageCount))
    }

    /// Begins to work if the log has grown by enough since the last time, or since it was begun anew. Returns at once.
    ///
    /// - Parameters:
    ///   - logged: the pages that the log has after a commit.
    ///   - pageCount: by how many pages the log grows from one time to the next.
    func note(_ logged: Int, every pageCount: Int) {
        let begins = state.withLock { state in
            guard case .idle(var attempt) = state else { return false }
            // A log that is shorter than at the last attempt was begun anew.
            if logged + pageCount < attempt { attempt = pageCount }
            state = logged < attempt ? .idle(attempt: attempt) : .working(attempt: logged + pageCount)
            return logged >= attempt
        }
        guard begins else { return }
        queue.async {
            self.work()
            self.state.withLock { state in
                if case .working(let attempt) = state { state = .idle(attempt: attempt) }
            }
        }
    }

    private func work() {
        // Never creates a file. One that has moved, or an error, is met by the next commit.
        guard let identity, FileIdentity(path: path) == identity,
            let connection = try? SQLiteConnection(location: path.sqliteURI + "?mode=rw", name: path)
        else { return }
        // It may be the last one that closes.
        connection.keepLogOnClose()
        guard FileIdentity(path: path) == identity, !connection.hasMoved else { return }
        try? connection.configure(durability: .full)
        try? connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// Waits until what has begun is done.
    func finish() { queue.sync {} }

    /// Begins nothing any more, and waits until what has begun is done.
    func close() {
        state.withLock { $0 = .closed }
        finish()
    }
}
