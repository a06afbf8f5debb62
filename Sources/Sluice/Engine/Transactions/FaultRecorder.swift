internal import SluiceModel
internal import SluiceStorage

/// Records errors of the store in work that nobody waits for. An error that would come again ends syncing.
final class FaultRecorder {
    private let log: LogSink?
    /// Called with an error after which it does not help to go on.
    var onLastingFault: ((SyncError) -> Void)?

    init(log: LogSink?) { self.log = log }

    /// Runs `body`, and logs an error. If the store's own file is damaged or gone, syncing stops, since it would meet
    /// the same error again.
    ///
    /// - Returns: false if syncing stopped.
    @discardableResult
    func recording(_ what: String, _ body: () throws -> Void) -> Bool {
        do { try body() } catch {
            log?(.error, what, [("error", "\(error)")])
            guard let error = error as? StorageError, error.isLasting else { return true }
            onLastingFault?(SyncError(.storage, error.message))
            return false
        }
        return true
    }
}
