internal import SluiceStorage
internal import Synchronization

/// Where databases stood in their journals when this process closed their files, so that it knows when it opens one again
/// whether the file is as it was left. About 100 bytes a database.
final class ClosedDatabases: Sendable {
    private let heads = Mutex<[String: JournalHead]>([:])

    func note(_ head: JournalHead, ofDatabase name: String) { heads.withLock { $0[name] = head } }

    /// Nil if this process has not closed it.
    func head(ofDatabase name: String) -> JournalHead? { heads.withLock { $0[name] } }
}
