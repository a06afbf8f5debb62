internal import Dispatch
internal import Glibc
internal import Synchronization

/// The users of one server, in a file: an SQLite database that the server and the command `sluice users` open at the same
/// time.
package final class UserFile: UserStore {
    /// The name of the file in a server's data folder.
    package static let name = "server.users"

    /// How often the file is looked at for what other processes have changed.
    private static let watchTime = DispatchTimeInterval.milliseconds(250)

    private let tables: Mutex<UserTables>
    private let isClosed = Atomic(false)
    private let watching = DispatchQueue(label: "sluice.users.watch", qos: .utility)

    /// Opens the file, and makes it, for its owner alone, if it is missing.
    ///
    /// - Parameter path: nil for memory.
    /// - Throws: ``StorageError`` when it cannot be opened, or is no file of users.
    package init(_ path: String?) throws {
        if let path {
            let file = FileOwner.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else {
                throw StorageError(
                    .io,
                    "the file of users '\(path)' cannot be opened: \(String(cString: strerror(errno)))")
            }
            Glibc.close(file)
        }
        tables = Mutex(try UserTables(path))
    }

    package func read<Result: Sendable>(_ body: (any UserRecords) throws -> Result) throws -> Result {
        try tables.withLock { try body($0) }
    }

    package func write<Result: Sendable>(
        about name: String, _ body: (any UserRecords) throws -> Result
    ) throws -> Result {
        try tables.withLock { tables in
            try tables.begin()
            do {
                let result = try body(tables)
                try tables.commit()
                return result
            } catch {
                tables.rollback()
                throw error
            }
        }
    }

    /// Copies the users as they are at a moment to a file that is there and empty.
    package func copy(to path: String) throws { try tables.withLock { try $0.copy(to: path) } }

    /// Whether another process has changed the file since the last call.
    package func hasChanged() throws -> Bool { try tables.withLock { try $0.hasChanged() } }

    package func watch(_ didChange: @escaping @Sendable () -> Void) {
        watching.asyncAfter(deadline: .now() + Self.watchTime) { [weak self] in
            guard let self, !isClosed.load(ordering: .relaxed) else { return }
            if (try? hasChanged()) ?? false { didChange() }
            watch(didChange)
        }
    }

    package func close() {
        isClosed.store(true, ordering: .relaxed)
        tables.withLock { $0.close() }
    }
}
