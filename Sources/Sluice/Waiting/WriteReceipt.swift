internal import Synchronization

/// Names one write, for ``Store/uploaded(_:timeout:)`` to wait until the server has it. ``WriteTransaction/receipt``
/// makes it. It is worth something as long as the process runs.
public final class WriteReceipt: Sendable {
    /// What has become of the write.
    package enum Fate: Sendable {
        /// The body of the write runs, or has thrown.
        case unstored
        /// It is stored here, and the server has not answered.
        case waiting
        /// The server has it, or there was nothing to upload.
        case uploaded
        case rejected(SyncError)
    }

    private let state = Mutex(Fate.unstored)

    package init() {}

    package var fate: Fate { state.withLock { $0 } }

    /// Notes that the write is stored, and waits to be uploaded.
    func noteStored() { state.withLock { $0 = .waiting } }

    /// Notes what the server has said.
    ///
    /// - Parameter rejection: why it has rejected the write; nil if it has it.
    package func noteAnswer(_ rejection: SyncError?) {
        state.withLock { $0 = rejection.map(Fate.rejected) ?? .uploaded }
    }
}
