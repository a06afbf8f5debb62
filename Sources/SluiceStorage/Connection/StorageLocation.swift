/// Where a store lives.
package enum StorageLocation: Hashable, Sendable {
    /// A file, made if missing.
    case file(String)
    /// Memory, for one handle, gone with it.
    case memory
}

/// How surely a commit survives the loss of power. A commit always survives the death of the process.
package enum StorageDurability: Sendable {
    /// Synced before commit returns.
    case full
    /// Synced at checkpoints: a power cut may take the last commits, never consistency.
    case process
}
