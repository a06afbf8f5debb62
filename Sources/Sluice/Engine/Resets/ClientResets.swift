internal import SluiceModel
internal import SluiceStorage

/// Decides what becomes of unsent writes when the server's history is another one, and sees the store catch up after
/// that.
///
/// A reset is noted on disk in the transaction that makes it, and its record goes when the store has caught up. If the
/// server asks for another one before that, in the same epoch, what the store uploads may be the cause: recovering again
/// would only go round in a circle.
final class ClientResets {
    /// What to do with unsent writes.
    enum Decision: Equatable {
        case recover, discard
        /// Nothing may be changed until somebody has decided.
        case wait(SyncError)
    }

    private let storage: SQLiteClientStorage
    private let options: ClientOptions
    private let now: () -> Timestamp
    /// The mode that the application has chosen for the next reset only.
    var override: ClientResetPolicy.Mode?
    /// Whether a record may be stored.
    private var mayBePending: Bool
    /// Called before a reset changes anything, and when the store has caught up after one.
    var onBegin: ((ClientReset) -> Void)?
    var onEnd: ((ClientReset) -> Void)?

    init(_ storage: SQLiteClientStorage, options: ClientOptions, now: @escaping () -> Timestamp) throws {
        self.storage = storage
        self.options = options
        self.now = now
        mayBePending = try ResetRecord.stored(in: storage) != nil
    }

    /// Decides, and tells the application.
    ///
    /// - Parameters:
    ///   - reason: why the store starts over.
    ///   - epoch: the server's epoch.
    /// - Returns: what to do, and the record to store with it; nil if nothing is changed.
    func begin(because reason: String, inEpoch epoch: UInt64) throws -> (Decision, ResetRecord?) {
        let isCycle = try override == nil && ResetRecord.stored(in: storage)?.epoch == epoch
        let decision = try decide(isCycle: isCycle)
        var record = ResetRecord(
            epoch: epoch, recoversWrites: decision == .recover, unsentCount: UInt64(storage.outboxCount),
            sequence: storage.lastSequence, startedAt: now(), reason: reason, backupPath: "")
        if case .wait = decision {
            onBegin?(record.report)
            return (decision, nil)
        }
        if options.copiesBeforeReset { record.backupPath = try backUp() ?? "" }
        onBegin?(record.report)
        override = nil
        return (decision, record)
    }

    private func decide(isCycle: Bool) throws -> Decision {
        let again = "the server made the store start over again before it had caught up; "
        switch override ?? options.resetMode {
        case .manual:
            return .wait(
                SyncError(
                    .resetRequired,
                    "the server's history is not the one that this store knows; call resetSync to start over"))
        case .recoverUnsynced where isCycle:
            return .wait(SyncError(.resetRequired, again + "call resetSync to decide what becomes of unsent writes"))
        case .discardUnsynced where isCycle:
            return .wait(SyncError(.resetRequired, again + "call resetSync to try it once more"))
        case .recoverOrDiscard where isCycle:
            guard try ResetRecord.stored(in: storage)?.recoversWrites ?? true else {
                return .wait(SyncError(.resetRequired, again + "call resetSync to try it once more"))
            }
            return .discard
        case .recoverUnsynced, .recoverOrDiscard: return .recover
        case .discardUnsynced: return .discard
        }
    }

    /// Copies the store's file beside it; nil for a store in memory.
    private func backUp() throws -> String? {
        guard let path = storage.path else { return nil }
        let backup = "\(path).reset-\(now().microseconds)"
        // An attempt that was interrupted may have left one of the same moment.
        do { try storage.copy(toFile: backup, for: .backup) } catch let error as StorageError
            where error.code == .exists
        {}
        return backup
    }

    /// Notes a reset on disk, inside the transaction that makes it.
    func note(_ record: ResetRecord) throws {
        try record.store(in: storage)
        mayBePending = true
    }

    /// Tells the application once the store has caught up after a reset.
    ///
    /// - Parameters:
    ///   - retired: the last transaction that has left the outbox.
    ///   - isComplete: whether every active subscription is complete or has failed.
    func endIfCaughtUp(
        retired: UInt64, isComplete: @autoclosure () -> Bool, _ transactions: StoreTransactions
    ) throws {
        guard mayBePending else { return }
        guard let record = try ResetRecord.stored(in: storage) else {
            mayBePending = false
            return
        }
        guard retired >= record.sequence, isComplete() else { return }
        try transactions.run(.local) { _ in try ResetRecord.remove(from: storage) }
        mayBePending = false
        onEnd?(record.report)
    }
}
