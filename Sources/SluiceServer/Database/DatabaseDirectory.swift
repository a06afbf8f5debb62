internal import SluiceModel
internal import Synchronization

/// The databases of a server, by name. Opened when first asked for.
final class DatabaseDirectory: Sendable {
    private let opener: DatabaseOpener
    private let now: @Sendable () -> Timestamp
    private let workers = Mutex<[String: DatabaseWorker]>([:])
    /// Held until the databases are closed; nil for a server in memory.
    private let folder: Mutex<DataFolder?>

    /// - Throws: ``ServerError`` when the opener's folder cannot be made or used.
    init(_ opener: DatabaseOpener, now: @escaping @Sendable () -> Timestamp) throws {
        self.opener = opener
        self.now = now
        folder = Mutex(try opener.folder.map { try DataFolder($0) })
    }

    /// The database of a name, if a session has asked for it.
    func known(_ name: String) -> DatabaseWorker? { workers.withLock { $0[name] } }

    /// The database of a name. Returns at once: it is opened on its own queue, with its first session.
    func worker(_ name: String, carryOut: @escaping @Sendable ([DatabaseAction]) -> Void) -> DatabaseWorker {
        workers.withLock { workers in
            if let worker = workers[name] { return worker }
            let worker = DatabaseWorker(
                name, now: now, log: opener.log, makeEngine: { [opener] in try opener.open(name) }, carryOut: carryOut)
            workers[name] = worker
            return worker
        }
    }

    /// Closes every database, after what has been asked of it is done, and lets other servers have the folder.
    func stop() {
        for worker in workers.withLock({ Array($0.values) }) { worker.stop() }
        folder.withLock { $0 = nil }
    }
}
