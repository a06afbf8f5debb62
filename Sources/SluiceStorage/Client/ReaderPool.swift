internal import Synchronization

/// Lends readers of a client's store, and keeps the states of the store's last commits for them.
///
/// A reader finds out from its own connection which commit it sees, and adopts the state of that commit, so that
/// readers and writer do not wait for each other. Sound as `Sendable`: mutexes guard readers and states, and a reader
/// is lent to one thread.
final class ReaderPool: @unchecked Sendable {
    private static let idleMax = 8
    /// How many states are kept. A reader that has been overtaken by more commits does not find its state, and begins
    /// again.
    private static let stateCountMax = 16

    private let location: String
    private let name: String
    private let access: FileAccess
    /// Keeps commits out while somebody reads; nil where the write-ahead log makes that needless.
    private let gate: AccessGate?
    /// The idle readers; nil once closed.
    private let idle = Mutex<[Lent]?>([])
    private let states: Mutex<[ClientState]>

    /// Sound as `Sendable`: one thread at a time uses the reader.
    private struct Lent: @unchecked Sendable {
        let reader: SQLiteClientReader
    }

    init(location: String, name: String, access: FileAccess, gate: AccessGate?, state: ClientState) {
        self.access = access
        self.location = location
        self.name = name
        self.gate = gate
        states = Mutex([state])
    }

    /// Adds the state of a commit. Must be called before the commit, so that no reader sees a commit without a state.
    func announce(_ state: ClientState) {
        states.withLock { states in
            states.append(state)
            if states.count > Self.stateCountMax { states.removeFirst() }
        }
    }

    /// Removes the state of a commit that failed.
    func withdraw(_ generation: Int64) {
        states.withLock { states in states.removeAll { $0.generation == generation } }
    }

    func read<Result>(_ body: (SQLiteClientReader) throws -> Result) throws -> Result {
        gate?.enterReading()
        defer { gate?.leaveReading() }
        let reader = try checkOut()
        defer {
            reader.end()
            let lent = Lent(reader: reader)
            idle.withLock { idle in
                if idle?.count ?? .max < Self.idleMax { idle?.append(lent) }
            }
        }
        try begin(reader)
        return try body(reader)
    }

    /// Refuses new readers, and closes the idle ones; the others close when they are done.
    func close() { idle.withLock { $0 = nil } }

    private func checkOut() throws -> SQLiteClientReader {
        let (lent, isClosed) = idle.withLock { idle in (idle?.popLast(), idle == nil) }
        if let lent { return lent.reader }
        guard !isClosed else { throw StorageError(.misuse, "\(name) is closed; open it again") }
        return try SQLiteClientReader(location: location, name: name, access: access, state: ClientState())
    }

    private func begin(_ reader: SQLiteClientReader) throws {
        for _ in 0..<100 {
            let generation = try reader.begin()
            let state = states.withLock { states in states.last { $0.generation == generation } }
            if let state { return try reader.adopt(state) }
            reader.end()
        }
        throw StorageError(.busy, "\(name): commits follow each other too fast to read; try again")
    }
}
