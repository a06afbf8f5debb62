internal import Sluice
internal import SluiceStorage

extension Store {
    /// The number of transactions that the server has not acknowledged.
    func unacknowledgedCount() async throws -> Int {
        let storage = core.storage
        return try await core.perform { engine in Int(storage.lastSequence - engine.acknowledgedSequence) }
    }

    /// Waits until at most a few transactions are unacknowledged, so that writing and uploading overlap.
    ///
    /// - Parameters:
    ///   - count: how many may be left unacknowledged.
    ///   - timeout: the longest wait without progress.
    func uploaded(leaving count: Int, timeout: Duration) async throws {
        let (signal, continuation) = AsyncStream<Void>.makeStream()
        let storage = core.storage
        _ = try await core.perform { engine in
            engine.whenUploaded { result in
                if case .success = result, storage.outboxCount > count { return false }
                continuation.finish()
                return true
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.uploaded(timeout: timeout) }
            group.addTask { for await _ in signal {} }
            try await group.next()
            group.cancelAll()
        }
    }
}
