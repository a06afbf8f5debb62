internal import SluiceStorage

/// Does what belongs to every transaction, whoever runs it.
protocol StoreTransactionsDelegate: AnyObject {
    /// Whether anybody needs to know what a transaction changes.
    var needsChanges: Bool { get }

    /// Stores what was put off until the next transaction.
    func transactionDidBegin(_ transaction: StoreTransaction) throws

    /// Returns to the state before the transaction, which has failed.
    func transactionDidRollBack() throws

    func transactionDidCommit(_ transaction: StoreTransaction, origin: ChangeOrigin)
}

/// Runs the transactions of a store. At most one is open at a time. Observers are handed the events of a transaction
/// after its commit, and before `run` returns. What observers can see changes only through the open ``StoreTransaction``,
/// which remembers what there was before.
final class StoreTransactions {
    private let storage: SQLiteClientStorage
    private let faults: FaultRecorder
    weak var delegate: (any StoreTransactionsDelegate)?
    /// Work that was requested within a transaction and must happen after it.
    private var waiting: [() throws -> Void] = []

    init(_ storage: SQLiteClientStorage, faults: FaultRecorder) {
        self.storage = storage
        self.faults = faults
    }

    /// - Throws: ``StoreError/Code/insideWrite`` when a transaction is open.
    func checkNoneIsOpen() throws {
        guard !storage.isInTransaction else {
            throw StoreError(.insideWrite, "this cannot be done within a write; do it before or after")
        }
    }

    /// Runs `body` now or, while a transaction is open, as soon as the transaction has ended, with or without success.
    func afterwards(_ body: @escaping () throws -> Void) throws {
        guard storage.isInTransaction else { return try body() }
        waiting.append(body)
    }

    private func runWaiting() {
        let bodies = waiting
        waiting = []
        for body in bodies { faults.recording("what a write asked for could not be done after it", body) }
    }

    /// Runs `body` in one storage transaction, and then notifies the observers of its changes.
    ///
    /// - Parameter isDurable: whether a transaction of the server is synced to disk, too: what the server has sent need
    ///   not be, since it would send that again.
    /// - Throws: ``StoreError/Code/insideWrite`` when a transaction is already open.
    @discardableResult
    func run<Result>(
        _ origin: ChangeOrigin, durably isDurable: Bool = false, _ body: (StoreTransaction) throws -> Result
    ) throws -> Result {
        try checkNoneIsOpen()
        defer { if !waiting.isEmpty { runWaiting() } }
        let transaction = StoreTransaction(storage, isObserved: delegate?.needsChanges ?? false)
        var hasBegun = false
        func work() throws -> Result {
            hasBegun = true
            try delegate?.transactionDidBegin(transaction)
            return try body(transaction)
        }
        let result: Result
        do {
            result = try origin.isRemote && !isDurable ? storage.receive(work) : storage.transaction(work)
        } catch {
            if hasBegun { try delegate?.transactionDidRollBack() }
            throw error
        }
        delegate?.transactionDidCommit(transaction, origin: origin)
        return result
    }
}

extension SQLiteClientStorage {
    /// Records the server version that this store has reached, in the open transaction.
    func advance(to version: UInt64) throws {
        guard var state = syncState, state.version < version else { return }
        state.version = version
        try setSyncState(state)
    }
}
