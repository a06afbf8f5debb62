internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// A group of uploads while its transaction is open.
struct GroupCommit {
    private let storage: any ServerStorage
    private let check: OperationCheck
    private let workerID: String?
    private let operationCountMax: Int
    private let limits: DataLimits
    private let creations: Creations
    private let now: Timestamp
    private var authors: [CommitAuthor] = []
    private var acknowledged: [SessionID: UInt64] = [:]
    private var rejections: [CommittedGroup.Rejection] = []
    private var supersededCount = 0
    private var progress: [UInt64: UInt64] = [:]
    private var rows: GroupRows

    /// When an upload's new objects are stored.
    enum Creations {
        /// As they come, which finds out at the same time whether anything is known of them. An upload that turns out
        /// to make an object too large has then spoilt the group.
        case atOnce
        /// Once all of the upload is merged and checked. Takes one more look at each.
        case afterChecks
    }

    /// An object that one upload changes.
    private struct TouchedObject {
        var object: ObjectRef
        /// The object before the upload.
        var old: Row?
        var merger: Merger
        /// The row that is already stored, if the upload began by creating the object.
        var created: Row?
    }

    init(
        storage: any ServerStorage, workerID: String?, operationCountMax: Int, limits: DataLimits, creations: Creations,
        now: Timestamp
    ) {
        self.creations = creations
        self.operationCountMax = operationCountMax
        self.limits = limits
        self.storage = storage
        self.check = OperationCheck(schema: storage.schema, limits: limits)
        self.workerID = workerID
        self.now = now
        rows = GroupRows(storage)
    }

    /// - Throws: ``LimitExcess`` when it would make an object too large and new objects are stored at once; the group
    ///   is then of no use any more.
    mutating func accept(_ upload: Upload) throws {
        let changeset = upload.changeset
        let accepted = try progress[upload.clientID] ?? storage.client(upload.clientID)?.sequence ?? 0
        acknowledged[upload.session] = max(accepted, changeset.sequence)
        guard changeset.sequence > accepted else { return }
        progress[upload.clientID] = changeset.sequence
        if let problem = upload.problem { return try refuse(upload, problem) }
        guard changeset.operations.count <= operationCountMax else {
            let reason = ServerMessage.Rejection.Reason(
                code: .limitExceeded,
                message:
                    "\(changeset.operations.count) operations in one transaction; a server accepts at most \(operationCountMax)"
            )
            return try refuse(upload, reason)
        }
        var upload = upload
        for (index, operation) in changeset.operations.enumerated() {
            guard let problem = check.problem(with: operation) else { continue }
            // It may have been made when a property was of a narrower type.
            let fitting = check.fitting(operation)
            guard check.problem(with: fitting) == nil else {
                // A rejection is stored, and told again at every opening: it must stay small.
                let isNamed = limits.excess(of: operation.object.key, in: "") == nil
                let reason = ServerMessage.Rejection.Reason(
                    object: isNamed ? operation.object : nil, code: .invalidOperation, message: problem)
                return try refuse(upload, reason)
            }
            upload.changeset.operations[index] = fitting
        }
        do {
            try apply(upload)
        } catch let excess as LimitExcess where creations == .afterChecks {
            try refuse(upload, .init(code: .limitExceeded, message: excess.description))
        }
    }

    private mutating func refuse(_ upload: Upload, _ reason: ServerMessage.Rejection.Reason) throws {
        let rejection = ServerMessage.Rejection(sequence: upload.changeset.sequence, reasons: [reason])
        try storage.addRejection(rejection, of: upload.clientID)
        rejections.append(.init(session: upload.session, rejection: rejection))
    }

    private mutating func apply(_ upload: Upload) throws {
        let version = storage.version + 1
        // Limited, so that a clock far ahead cannot win every merge.
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
                if creations == .atOnce, !deleted.contains(object), let created = try create(operation, stamp) {
                    touched.append(created)
                    continue
                }
                let old = try rows.row(object)
                touched.append(
                    TouchedObject(object: object, old: old, merger: Merger(old, of: storage.schema[object.classIndex])))
            }
            let row = touched[position].merger.row
            let history = try history(of: object, row: row, since: upload.changeset.baseVersion, for: stamp)
            touched[position].merger.apply(operation, author: stamp, history: history)
        }
        for object in touched {
            if let row = object.merger.row { try check(row, of: object.object, replacing: object.old) }
        }
        let author = authors.count
        var entry = LogEntry(
            version: version, clientID: upload.clientID, userID: upload.userID, timestamp: timestamp, acceptedAt: now,
            changes: [])
        entry.changes.reserveCapacity(touched.count)
        for object in touched {
            supersededCount += object.merger.supersededCount
            if let change = try store(object, version: version, author: author) { entry.changes.append(change) }
        }
        try storage.append(entry)
        authors.append(
            CommitAuthor(
                version: version, userID: upload.userID, clientID: upload.clientID, kinds: kinds, acceptedAt: now,
                workerID: workerID))
    }

    private func check(_ row: Row, of object: ObjectRef, replacing old: Row?) throws(LimitExcess) {
        let excess = limits.excess(of: row, replacing: old, in: storage.schema[object.classIndex].name)
        if let excess { throw excess }
    }

    /// The changes of an object that the author did not know of, as far as they may take precedence over the author's
    /// write.
    ///
    /// It reads the log only if the object was changed since the author's version, and only from the first change that
    /// is not earlier than the author's write.
    private func history(
        of object: ObjectRef, row: Row?, since version: UInt64, for author: WriteStamp
    ) throws -> ObjectHistory {
        let version = max(version, storage.version(before: author.timestamp))
        guard version < storage.version, let last = try row?.version ?? storage.lastVersion(of: object), last > version
        else { return ObjectHistory() }
        return try storage.history(of: object, since: max(version, storage.logStart))
    }

    /// Stores a new object at once if storage knows nothing of it, so that there is nothing to merge with. Nil
    /// otherwise.
    private func create(_ operation: ObjectOperation, _ stamp: WriteStamp) throws -> TouchedObject? {
        guard case .create = operation.action else { return nil }
        let object = operation.object
        var merger = Merger(nil, of: storage.schema[object.classIndex])
        merger.apply(operation, author: stamp, history: ObjectHistory())
        guard var row = merger.row else { return nil }
        row.version = stamp.version
        try check(row, of: object, replacing: nil)
        guard try rows.insertIfUnknown(row, of: object) else { return nil }
        merger.row = row
        return TouchedObject(object: object, old: nil, merger: merger, created: row)
    }

    /// Stores an object as an upload leaves it.
    ///
    /// - Returns: the change for the log; nil if the upload changed nothing.
    private mutating func store(_ touched: TouchedObject, version: UInt64, author: Int) throws -> LogChange? {
        let object = touched.object
        let merger = touched.merger
        var new = merger.row
        new?.version = version
        let change: LogChange
        var changed = PropertySet()
        switch (touched.old, merger.row) {
        case (nil, nil):
            return nil
        case (nil, let row?):
            if let created = touched.created { changed = row.differences(from: created) }
            change = LogChange(object, .create, written: merger.written, additions: merger.additions)
        case (let old?, nil):
            change = LogChange(object, .delete, oldVersion: old.version, oldValues: old.values)
        case (let old?, let row?):
            changed = row.differences(from: old)
            guard !changed.isEmpty || !merger.written.isEmpty else { return nil }
            let written = changed.union(merger.written)
            change = LogChange(
                object, .update, oldVersion: old.version, written: written, oldValues: written.map { old.values[$0] },
                additions: merger.additions)
        }
        try rows.note(
            object, old: touched.old, new: new, stored: touched.created, changed: changed, version: version,
            author: author)
        return change
    }

    /// Stores everything that is written only at the end of the group.
    mutating func finish() throws {
        try rows.write()
        for (client, sequence) in progress { try storage.setClientProgress(client, sequence: sequence) }
    }

    /// The result of the group. Read it once, after the group is durable.
    var committed: CommittedGroup {
        CommittedGroup(
            delta: CommitDelta(changes: rows.deltas, version: storage.version), authors: authors, acceptedAt: now,
            acknowledged: acknowledged, rejections: rejections, supersededCount: supersededCount)
    }
}

extension Row {
    /// The properties in which two states of an object differ.
    fileprivate func differences(from other: Row) -> PropertySet {
        PropertySet(values.indices.filter { !values[$0].isIdentical(to: other.values[$0]) })
    }
}
