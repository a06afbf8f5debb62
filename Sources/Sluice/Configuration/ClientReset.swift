public import FoundationEssentials

/// What a store does when the server has another history than the one that the store knows: it was restored from a
/// backup, lost its data, or has forgotten the store, which was away for too long.
///
/// What came from the server is void then. The store removes it, and fetches what its observers want anew. The question
/// is what becomes of the writes that the server has not confirmed.
public struct ClientResetPolicy: Sendable {
    /// What becomes of unsent writes.
    public enum Mode: String, Sendable, Hashable {
        /// Nothing is changed. Syncing ends with ``SyncError/Code/resetRequired`` until
        /// ``Store/resetSync(_:)`` says what to do.
        case manual
        /// Unsent writes are dropped, and reported to ``Store/onWriteRejected(_:)``.
        case discardUnsynced
        /// Unsent writes stay, and are uploaded again. An update of an object that the server no longer has does not
        /// bring it back. If the server makes the store start over again before it has caught up, syncing ends with
        /// ``SyncError/Code/resetRequired``.
        case recoverUnsynced
        /// As ``recoverUnsynced``; if the server makes the store start over again before it has caught up, unsent writes
        /// are dropped as by ``discardUnsynced``.
        case recoverOrDiscard
    }

    /// What becomes of unsent writes.
    public var mode: Mode
    /// Whether the store's file is copied before anything is changed, to a file beside it that
    /// ``ClientReset/backupPath`` names. Nobody deletes these copies. Without effect for a store in memory. If the copy
    /// cannot be written, nothing is changed and syncing ends.
    public var keepsBackup: Bool
    /// Called before anything is changed, on the store's own queue: it must not wait for the store, and reads the state
    /// before the reset from ``ClientReset/backupPath`` or, from other threads, from the store.
    public var before: (@Sendable (ClientReset) -> Void)?
    /// Called when the store has caught up after a reset: its unsent writes are uploaded and its observed queries are
    /// complete. On a thread of the store.
    public var after: (@Sendable (ClientReset) -> Void)?

    /// - Parameters:
    ///   - mode: what becomes of unsent writes.
    ///   - keepsBackup: whether the store's file is copied before anything is changed.
    ///   - before: called before anything is changed.
    ///   - after: called when the store has caught up.
    public init(
        _ mode: Mode = .recoverUnsynced, keepsBackup: Bool = false, before: (@Sendable (ClientReset) -> Void)? = nil,
        after: (@Sendable (ClientReset) -> Void)? = nil
    ) {
        self.mode = mode
        self.keepsBackup = keepsBackup
        self.before = before
        self.after = after
    }
}

/// One client reset, as ``ClientResetPolicy`` reports it.
public struct ClientReset: Sendable, Hashable {
    /// Why the store starts over.
    public let reason: String
    /// Whether unsent writes are uploaded again; else they are dropped, or nothing is done yet (mode `manual`).
    public let recoversWrites: Bool
    /// The number of transactions that the server had not confirmed when the reset began.
    public let unsentCount: Int
    /// The copy of the store's file as it was before; nil if none was made.
    public let backupPath: String?
    /// When the reset began.
    public let date: Date
}

extension ClientReset: CustomStringConvertible {
    /// One line: what becomes of how many writes, and why. No data.
    public var description: String {
        "client reset, \(unsentCount) unsent transactions \(recoversWrites ? "kept" : "not kept"): \(reason)"
    }
}
