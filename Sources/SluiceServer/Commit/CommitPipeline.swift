package import SluiceModel
package import SluiceStorage

/// Turns a group of uploads into versions: it checks and merges them, and stores them in one transaction with one
/// fsync.
package struct CommitPipeline {
    private let storage: any ServerStorage
    private let workerID: String?
    private let operationCountMax: Int
    private let limits: DataLimits

    /// - Parameters:
    ///   - operationCountMax: the most operations of one transaction; larger ones are rejected.
    ///   - limits: a transaction that would make a larger object is rejected.
    package init(
        storage: any ServerStorage, workerID: String?, operationCountMax: Int = DataLimits.standard.operationCount,
        limits: DataLimits = .standard
    ) {
        self.limits = limits
        self.storage = storage
        self.workerID = workerID
        self.operationCountMax = operationCountMax
    }

    /// Commits a group, and returns once it is durable. After an error nothing of the group is stored.
    ///
    /// O(operations · log n), where n is the number of writes that an operation is merged with, even if all of them
    /// concern one object.
    ///
    /// - Parameters:
    ///   - uploads: the uploads in order of arrival; the sequences of one client ascend. Uploads that were accepted
    ///     earlier are acknowledged again.
    ///   - now: the server's wall clock.
    /// - Throws: ``StorageError`` when the group could not be stored.
    package func commit(_ uploads: [Upload], now: Timestamp) throws -> CommittedGroup {
        do {
            return try commit(uploads, now: now, storing: .atOnce)
        } catch is LimitExcess {
            // One of them would make an object too large, and something of it is stored already.
            return try commit(uploads, now: now, storing: .afterChecks)
        }
    }

    private func commit(
        _ uploads: [Upload], now: Timestamp, storing creations: GroupCommit.Creations
    ) throws -> CommittedGroup {
        var group = GroupCommit(
            storage: storage, workerID: workerID, operationCountMax: operationCountMax, limits: limits,
            creations: creations, now: now)
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
