internal import SluiceStorage

/// The store's file.
extension ClientEngine {
    /// What the store takes, in bytes.
    package var byteCount: Int { get throws { try storage.byteCount } }

    /// Writes the store to a new file.
    package func writeCopy(to path: String, as kind: StoreCopy) throws {
        try transactions.checkNoneIsOpen()
        outbox.storePostponed()
        switch kind {
        case .local: try storage.copy(toFile: path, for: .alone)
        case .synced:
            guard outbox.isEmpty, storage.keptObjects.isEmpty else {
                throw StoreError(
                    .notUploaded,
                    "the store has writes that the server has not confirmed, and each copy would upload them; wait for "
                        + "uploaded() and discard rejected writes before copying it as a synced store")
            }
            try storage.copy(toFile: path, for: .synced)
        }
    }
}
