package import SluiceModel
package import SluiceStorage

/// Turns uploads into versions: check, merge, one transaction for the whole group, fsync.
package struct CommitPipeline {
    private let storage: any ServerStorage
    private let workerID: String?
    private let operationCountMax: Int

    /// - Parameter operationCountMax: the most operations of one transaction; larger ones are rejected.
    package init(storage: any ServerStorage, workerID: String?, operationCountMax: Int = 100_000) {
        self.storage = storage
        self.workerID = workerID
        self.operationCountMax = operationCountMax
    }

    /// Commits a group. Returns once it is durable; after an error nothing of it is stored.
    ///
    /// O(operations · log n) in the writes that an operation is merged with, however many concern one object.
    ///
    /// - Parameters:
    ///   - uploads: in order of arrival; sequences of one client ascend. Those accepted before are acknowledged again.
    ///   - now: the server's wall clock.
    /// - Throws: ``StorageError`` when the group could not be stored.
    package func commit(_ uploads: [Upload], now: Timestamp) throws -> CommittedGroup {
        var group = GroupCommit(
            storage: storage, workerID: workerID, operationCountMax: operationCountMax, now: now)
        try storage.begin()
        do {
            for upload in uploads { try group.accept(upload) }
            try group.finish()
            try storage.commit()
        } catch {
            storage.rollback()
            throw error
        }
        return group.committed
    }
}
