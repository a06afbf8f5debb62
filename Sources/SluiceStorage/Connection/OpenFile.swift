internal import Glibc
internal import SluiceModel

/// A database file that is open: its lock, its marker, and whether it is still where it was opened.
final class OpenFile {
    /// What may be done with the file.
    private enum State {
        /// It is where it was opened.
        case held(FileLock)
        /// It was removed, renamed or replaced; what is written to it is lost.
        case vanished(StorageError)
        /// It was let go.
        case closed
    }

    private let path: DatabasePath
    private let watch: FileWatch
    private let found: MarkerFile.Finding
    private let hadLog: Bool
    /// Nil until the content of the file was compared with the marker.
    private var marker: MarkerFile?
    private var state: State
    /// Why the file was opened for reading only; nil if it can be written.
    let obstacle: StorageError?

    /// - Parameters:
    ///   - found: the marker as it was before the file was opened.
    ///   - hadLog: whether there was a write-ahead log before the file was opened.
    ///   - lock: kept until ``close(commitCount:)``.
    ///   - obstacle: why the file was opened for reading only; nil if it can be written.
    init(
        _ path: DatabasePath, found: MarkerFile.Finding, hadLog: Bool, lock: FileLock, obstacle: StorageError? = nil
    ) {
        self.obstacle = obstacle
        self.path = path
        self.found = found
        self.hadLog = hadLog
        state = .held(lock)
        watch = FileWatch([path.file, path.writeAheadLog, path.sharedMemory, path.lock])
    }

    /// Compares what the file holds with what its marker says, and makes the marker if there is none.
    ///
    /// - Parameters:
    ///   - databaseID: the id in the file; nil if such files have none.
    ///   - commitCount: what the file has committed.
    ///   - isSynced: whether every commit is synced before it returns.
    /// - Returns: what was noticed and is fine; nil in general.
    /// - Throws: ``StorageError/Code/vanished`` if the file is another database, or lacks commits.
    func admit(databaseID: ObjectID?, commitCount: UInt64, isSynced: Bool) throws(StorageError) -> String? {
        var content = BirthMarker(databaseID: databaseID)
        content.commitCount = commitCount
        content.boot = BirthMarker.currentBoot
        var notice: String?
        if case .marker(let expected) = found {
            if let id = expected.databaseID, id != databaseID {
                throw StorageError(
                    .vanished,
                    "\(path.file) was replaced by another database: its marker names another id. Put the right file back, "
                        + "or remove \(path.marker) to go on with this one")
            }
            let isComparable = isSynced || expected.boot == BirthMarker.currentBoot && !expected.boot.isEmpty
            if commitCount < expected.commitCount, isComparable {
                guard !expected.isOpen else { throw incomplete(commitCount, expected.commitCount) }
                notice =
                    "\(path.file) went back from commit \(expected.commitCount) to commit \(commitCount); it is taken for "
                    + "a backup that was put back"
            }
        }
        guard obstacle == nil else { return notice }
        do {
            if case .marker(let known) = found, notice == nil {
                marker = try MarkerFile.open(path, content: known, isNew: false)
            } else {
                marker = try MarkerFile.open(path, content: content, isNew: true)
            }
        } catch {
            // What is there can be used without; it gets its marker when it is opened again.
            return "\(path.file) has no marker that could be written: \(error.message)"
        }
        return notice
    }

    private func incomplete(_ found: UInt64, _ expected: UInt64) -> StorageError {
        let log = path.writeAheadLog
        let cause = "its write-ahead log \(log) \(hadLog ? "is damaged or that of another file" : "is missing")"
        return StorageError(
            .vanished,
            "\(path.file) lacks commits \(found + 1) to \(expected), since \(cause). Put the right files back; or, to go on "
                + "without those commits, or with a backup that was put back, remove \(path.marker)")
    }

    /// Fails if the file is no longer where it was opened; from then on, always. One system call for each of its files.
    func check() throws(StorageError) {
        switch state {
        case .vanished(let error): throw error
        case .closed: return
        case .held:
            guard let missing = watch.firstMissing() else { return }
            let error = StorageError(
                .vanished,
                "\(missing) was removed, renamed or replaced while it was open; nothing more is written. Put the files of "
                    + "this database back and open it again; to start afresh, remove all of them and \(path.marker)")
            state = .vanished(error)
            throw error
        }
    }

    /// Why the file cannot be written at the moment, tried anew; nil if it can.
    func probe() -> StorageError? { WriteProbe.obstacle(to: path) }

    /// Why the file can no longer be used; nil while it can.
    var failure: StorageError? {
        if case .vanished(let error) = state { return error }
        return nil
    }

    /// To be called after a commit, before anybody is told of it.
    ///
    /// - Throws: ``StorageError/Code/vanished`` if the commit went to a file that is gone.
    func confirm(commitCount: UInt64) throws(StorageError) {
        try check()
        marker?.note(commitCount: commitCount, isOpen: true)
    }

    /// Lets the file go, once its connection is closed.
    func close(commitCount: UInt64) {
        // SQLite removes the write-ahead log once all of it is in the file.
        if case .held = state, watch.isInPlace(path.file), access(path.writeAheadLog, F_OK) != 0 {
            marker?.note(commitCount: commitCount, isOpen: false)
        }
        marker = nil
        state = .closed
    }
}
