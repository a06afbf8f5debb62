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

    private struct State {
        var tables: UserTables
        /// Why nothing can be written; nil if something can, as far as is known.
        var obstacle: StorageError?
    }

    private let path: String?
    private let state: Mutex<State>
    private let didRecover: @Sendable () -> Void
    private let isClosed = Atomic(false)
    private let watching = DispatchQueue(label: "sluice.users.watch", qos: .utility)

    /// Opens the file, and makes it, for its owner alone, if it is missing. One that is there and may not be written is
    /// read, until it may be: see ``obstacle``.
    ///
    /// - Parameters:
    ///   - path: nil for memory.
    ///   - didRecover: called once a file that could only be read can be written. It must not use the file.
    /// - Throws: ``StorageError`` when it cannot be opened, or is no file of users.
    package init(_ path: String?, didRecover: @escaping @Sendable () -> Void = {}) throws {
        self.path = path
        self.didRecover = didRecover
        let obstacle = try path.flatMap { path throws(StorageError) in try Self.obstacle(to: path) }
        state = Mutex(State(tables: try UserTables(path, isReadOnly: obstacle != nil), obstacle: obstacle))
    }

    /// Finds out whether a file can be written; a missing one is made.
    ///
    /// - Returns: why it can only be read; nil if it can be written.
    /// - Throws: ``StorageError`` if it cannot be read either.
    private static func obstacle(to path: String) throws(StorageError) -> StorageError? {
        let flags = O_CLOEXEC | O_NOFOLLOW
        func close(_ file: Int32) { _ = Glibc.close(file) }
        let file = FileOwner.open(path, O_RDWR | flags)
        guard file < 0 else {
            close(file)
            return nil
        }
        let code = errno
        let reason = String(cString: strerror(code))
        let reader = [EROFS, EACCES, EPERM].contains(code) ? Glibc.open(path, O_RDONLY | flags) : -1
        guard reader >= 0 else {
            throw StorageError(.io, "the file of users '\(path)' cannot be opened: \(reason)")
        }
        close(reader)
        return StorageError(.readOnly, "the file of users '\(path)' cannot be written: \(reason)")
    }

    /// Why the users can be read and not changed: the file, or its disk, may not be written. Nil if they can be changed, as
    /// far as is known; a disk that is full is met by the one who writes.
    package var obstacle: StorageError? { state.withLock(\.obstacle) }

    package func read<Result: Sendable>(_ body: (any UserRecords) throws -> Result) throws -> Result {
        try state.withLock { try body($0.tables) }
    }

    package func write<Result: Sendable>(
        about name: String, _ body: (any UserRecords) throws -> Result
    ) throws -> Result {
        try state.withLock { state in
            recover(&state)
            if let obstacle = state.obstacle { throw obstacle }
            try state.tables.begin()
            do {
                let result = try body(state.tables)
                try state.tables.commit()
                return result
            } catch {
                state.tables.rollback()
                throw error
            }
        }
    }

    /// Opens a file anew that could only be read, if it can be written by now.
    private func recover(_ state: inout State) {
        guard state.obstacle != nil, let path else { return }
        do {
            guard try Self.obstacle(to: path) == nil else { return }
            let tables = try UserTables(path)
            state.tables.close()
            state = State(tables: tables, obstacle: nil)
        } catch { return }
        didRecover()
    }

    /// Copies the users as they are at a moment to a file that is there and empty.
    package func copy(to path: String) throws { try state.withLock { try $0.tables.copy(to: path) } }

    /// Whether another process has changed the file since the last call.
    package func hasChanged() throws -> Bool {
        try state.withLock { state in
            if !isClosed.load(ordering: .relaxed) { recover(&state) }
            return try state.tables.hasChanged()
        }
    }

    package func watch(_ didChange: @escaping @Sendable () -> Void) {
        watching.asyncAfter(deadline: .now() + Self.watchTime) { [weak self] in
            guard let self, !isClosed.load(ordering: .relaxed) else { return }
            if (try? hasChanged()) ?? false { didChange() }
            watch(didChange)
        }
    }

    package func close() {
        isClosed.store(true, ordering: .relaxed)
        state.withLock { $0.tables.close() }
    }
}
