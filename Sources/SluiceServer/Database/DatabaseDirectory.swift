internal import FoundationEssentials
internal import SluiceModel
internal import Synchronization

/// The databases of a server, by name. Opened when first asked for.
final class DatabaseDirectory: Sendable {
    private let opener: DatabaseOpener
    private let now: @Sendable () -> Timestamp
    private let workers = Mutex<[String: DatabaseWorker]>([:])

    /// Makes the folder where it is missing; nobody but its owner may look into it.
    ///
    /// - Throws: ``ServerError`` when the opener's folder is missing and cannot be made.
    init(_ opener: DatabaseOpener, now: @escaping @Sendable () -> Timestamp) throws {
        self.opener = opener
        self.now = now
        guard let folder = opener.folder else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ServerError(.dataFolder, "the data folder '\(folder)' cannot be made: \(error)", cause: error)
        }
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

    /// Closes every database, after what has been asked of it is done.
    func stop() {
        for worker in workers.withLock({ Array($0.values) }) { worker.stop() }
    }
}
