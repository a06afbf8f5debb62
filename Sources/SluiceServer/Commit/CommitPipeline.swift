package import SluiceModel
internal import SluiceQuery
package import SluiceStorage
package import SluiceViews
package import SluiceWire

/// One uploaded transaction on its way into the database.
package struct Upload: Sendable {
    package var session: SessionID
    package var clientID: UInt64
    package var userID: String?
    package var changeset: Changeset

    package init(session: SessionID, clientID: UInt64, userID: String?, changeset: Changeset) {
        self.session = session
        self.clientID = clientID
        self.userID = userID
        self.changeset = changeset
    }
}

/// What a group of uploads came to, once it is durable.
package struct CommittedGroup: Sendable {
    /// What changed, from before the group to after it.
    package var delta: CommitDelta
    /// Who made the group's versions; positions here are the author indexes of the delta.
    package var authors: [CommitAuthor]
    package var acceptedAt: Timestamp
    /// By session, the highest sequence taken.
    package var acknowledged: [SessionID: UInt64]
    package var rejections: [Rejection]
    /// Operations that the merge rules discarded.
    package var supersededCount: Int

    package struct Rejection: Sendable {
        package var session: SessionID
        package var refusal: ServerMessage.Refusal
    }
}

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
    /// - Parameters:
    ///   - uploads: in order of arrival; sequences of one client ascend. Those taken before are acknowledged again.
    ///   - now: the server's wall clock.
    /// - Throws: ``StorageError`` when the group could not be stored.
    package func commit(_ uploads: [Upload], now: Timestamp) throws -> CommittedGroup {
        var group = GroupCommit(
            storage: storage, workerID: workerID, operationCountMax: operationCountMax, now: now)
        try storage.begin()
        do {
            for upload in uploads { try group.take(upload) }
            try group.storeProgress()
            try storage.commit()
        } catch {
            storage.rollback()
            throw error
        }
        return group.committed
    }
}

/// A group while its transaction is open.
private struct GroupCommit {
    private let storage: any ServerStorage
    private let check: OperationCheck
    private let workerID: String?
    private let operationCountMax: Int
    private let now: Timestamp
    private var authors: [CommitAuthor] = []
    private var acknowledged: [SessionID: UInt64] = [:]
    private var rejections: [CommittedGroup.Rejection] = []
    private var supersededCount = 0
    private var progress: [UInt64: UInt64] = [:]
    private var changes: [GroupChange] = []
    private var changePositions: [ObjectRef: Int] = [:]

    /// An object of one upload.
    private struct TouchedObject {
        var object: ObjectRef
        /// What it was before the upload.
        var old: Row?
        var merger: Merger
        /// What is stored of it already, if the upload began by making it.
        var created: Row?
    }

    private struct GroupChange {
        var object: ObjectRef
        var old: Row?
        var new: Row?
        var authors: [Int]
    }

    init(storage: any ServerStorage, workerID: String?, operationCountMax: Int, now: Timestamp) {
        self.operationCountMax = operationCountMax
        self.storage = storage
        self.check = OperationCheck(schema: storage.schema)
        self.workerID = workerID
        self.now = now
    }

    mutating func take(_ upload: Upload) throws {
        let changeset = upload.changeset
        let taken = try progress[upload.clientID] ?? storage.client(upload.clientID)?.sequence ?? 0
        acknowledged[upload.session] = max(taken, changeset.sequence)
        guard changeset.sequence > taken else { return }
        progress[upload.clientID] = changeset.sequence
        guard changeset.operations.count <= operationCountMax else {
            let reason = ServerMessage.Refusal.Reason(
                code: .limitExceeded,
                message:
                    "\(changeset.operations.count) operations in one transaction; at most \(operationCountMax) are taken"
            )
            return try refuse(upload, reason)
        }
        for operation in changeset.operations {
            guard let problem = check.problem(with: operation) else { continue }
            let reason = ServerMessage.Refusal.Reason(
                object: operation.object, code: .invalidOperation, message: problem)
            return try refuse(upload, reason)
        }
        try apply(upload)
    }

    private mutating func refuse(_ upload: Upload, _ reason: ServerMessage.Refusal.Reason) throws {
        let refusal = ServerMessage.Refusal(sequence: upload.changeset.sequence, reasons: [reason])
        try storage.addRefusal(refusal, of: upload.clientID)
        rejections.append(.init(session: upload.session, refusal: refusal))
    }

    private mutating func apply(_ upload: Upload) throws {
        let version = storage.version + 1
        // A clock far ahead must not win for ever.
        let limit = now.microseconds + HybridClock.driftMax
        let timestamp = HybridTimestamp(microseconds: min(upload.changeset.timestamp.microseconds, limit))
        let stamp = WriteStamp(timestamp: timestamp, clientID: upload.clientID, version: version)
        var touched: [TouchedObject] = []
        touched.reserveCapacity(upload.changeset.operations.count)
        var positions: [ObjectRef: Int] = [:]
        positions.reserveCapacity(upload.changeset.operations.count)
        var kinds: Set<OperationKind> = []
        let deleted = Set(upload.changeset.operations.lazy.filter { $0.action == .delete }.map(\.object))
        for operation in upload.changeset.operations {
            operation.addKinds(to: &kinds)
            let object = operation.object
            let position: Int
            if let known = positions[object] {
                position = known
            } else {
                position = touched.count
                positions[object] = position
                if !deleted.contains(object), let created = try create(operation, stamp) {
                    touched.append(created)
                    continue
                }
                let old = try storage.row(object)
                touched.append(
                    TouchedObject(object: object, old: old, merger: Merger(old, of: storage.schema[object.classIndex])))
            }
            let row = touched[position].merger.row
            let history = try history(of: object, row: row, since: upload.changeset.baseVersion)
            touched[position].merger.apply(operation, author: stamp, history: history)
        }
        let author = authors.count
        var entry = LogEntry(
            version: version, clientID: upload.clientID, userID: upload.userID, timestamp: timestamp, acceptedAt: now,
            changes: [])
        entry.changes.reserveCapacity(touched.count)
        for object in touched {
            supersededCount += object.merger.supersededCount
            guard let change = try store(object, version: version) else { continue }
            entry.changes.append(change)
            note(object, version: version, author: author)
        }
        try storage.append(entry)
        authors.append(
            CommitAuthor(
                version: version, userID: upload.userID, clientID: upload.clientID, kinds: kinds, acceptedAt: now,
                workerID: workerID))
    }

    /// Nothing was done to an object that no version after the author's touched; so only others ask the log.
    private func history(of object: ObjectRef, row: Row?, since version: UInt64) throws -> ObjectHistory {
        if let row, row.version <= version { return ObjectHistory() }
        return try storage.history(of: object, since: max(min(version, storage.version), storage.logStart))
    }

    /// Stores the object of a creation at once if nothing is known of it: then there is nothing to merge with.
    private func create(_ operation: ObjectOperation, _ stamp: WriteStamp) throws -> TouchedObject? {
        guard case .create = operation.action else { return nil }
        let object = operation.object
        var merger = Merger(nil, of: storage.schema[object.classIndex])
        merger.apply(operation, author: stamp, history: ObjectHistory())
        guard var row = merger.row else { return nil }
        row.version = stamp.version
        guard try storage.insertIfUnknown(row, ofClass: object.classIndex) else { return nil }
        merger.row = row
        return TouchedObject(object: object, old: nil, merger: merger, created: row)
    }

    private func store(_ touched: TouchedObject, version: UInt64) throws -> LogChange? {
        let object = touched.object
        let merger = touched.merger
        switch (touched.old, merger.row) {
        case (nil, nil):
            return nil
        case (nil, var row?):
            row.version = version
            if let created = touched.created {
                let changed = PropertySet(row.values.indices.filter { row.values[$0] != created.values[$0] })
                if !changed.isEmpty { try storage.update(row, ofClass: object.classIndex, changed: changed) }
            } else {
                try storage.insert(row, ofClass: object.classIndex)
            }
            return LogChange(object, .create, written: merger.written, additions: merger.additions)
        case (let old?, nil):
            try storage.delete(object, version: version)
            return LogChange(object, .delete, oldVersion: old.version, oldValues: old.values)
        case (let old?, var row?):
            let changed = PropertySet(row.values.indices.filter { row.values[$0] != old.values[$0] })
            guard !changed.isEmpty || !merger.written.isEmpty else { return nil }
            let written = changed.union(merger.written)
            row.version = version
            try storage.update(row, ofClass: object.classIndex, changed: changed)
            return LogChange(
                object, .update, oldVersion: old.version, written: written, oldValues: written.map { old.values[$0] },
                additions: merger.additions)
        }
    }

    private mutating func note(_ touched: TouchedObject, version: UInt64, author: Int) {
        var new = touched.merger.row
        new?.version = version
        assert((try? storage.row(touched.object)) == .some(new), "what is stored reads as it was written")
        if let position = changePositions[touched.object] {
            changes[position].new = new
            changes[position].authors.append(author)
        } else {
            changePositions[touched.object] = changes.count
            changes.append(GroupChange(object: touched.object, old: touched.old, new: new, authors: [author]))
        }
    }

    func storeProgress() throws {
        for (client, sequence) in progress { try storage.setClientProgress(client, sequence: sequence) }
    }

    /// What the group came to; to be asked once, when it is durable.
    var committed: CommittedGroup {
        let deltas = changes.compactMap { change -> ObjectDelta? in
            guard change.old != nil || change.new != nil else { return nil }
            return ObjectDelta(object: change.object, old: change.old, new: change.new, authors: change.authors)
        }
        return CommittedGroup(
            delta: CommitDelta(changes: deltas, version: storage.version), authors: authors, acceptedAt: now,
            acknowledged: acknowledged, rejections: rejections, supersededCount: supersededCount)
    }
}
