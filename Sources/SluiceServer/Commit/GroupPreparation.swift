internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Merges a group of uploads against the present state, and writes nothing: the result is redo data.
///
/// Each upload is accepted, rejected, or acknowledged again because it was decided before. Each accepted one that changes
/// objects makes a version, and sees the versions of those before it. `OperationCheck`, `TouchedObject`, `GroupObjects`,
/// `GroupHistory`, `BaseImages` and `Merger` are behind this entrance.
struct GroupPreparation {
    let storage: SQLiteServerStorage
    let schema: Schema
    let check: OperationCheck
    /// What a transaction may hold, as its author checks it too.
    let transactionLimits: DataLimits
    private let limits: DataLimits
    /// The server's clock, which never goes back.
    let now: Timestamp
    var version: UInt64
    var objects: GroupObjects
    /// How many uploads were merged.
    private var uploadCount = 0
    var known = KnownObjects(numbers: [], before: [], created: [])
    var groupHistory = GroupHistory()
    var steps: [JournalStep] = []
    /// The uploads that were accepted by column; then the group has no others.
    var runs: [CreationUpload] = []
    private var progress: [UInt64: UInt64] = [:]
    private var acknowledged: [SessionID: UInt64] = [:]
    private var rejections: [CommittedGroup.Rejection] = []
    /// The objects, with their numbers, that uploads have created in vain.
    private var createdInVain: [(session: SessionID, object: ObjectRef, number: Int)] = []
    private var supersededCount = 0
    /// How many creations of each class met an object with their key.
    private var metCounts: [Int: Int] = [:]
    /// Those of the classes that the group has come to, by position.
    private var templates: [Merger.Template?]

    /// The latest time that a transaction bears, in microseconds.
    private var latestTime: Int64
    /// What the uploads so far do to records of jobs; nil for one that is removed.
    var jobs: [JobRecord.Key: JobRecord?] = [:]
    let authority: ((SessionID) -> AccessBinding)?
    let writeGuard: WriteGuard?
    let policies: DatabasePolicies?
    var bases: BaseImages

    init(
        storage: SQLiteServerStorage, operationCountMax: Int, limits: DataLimits,
        authority: ((SessionID) -> AccessBinding)?, policies: DatabasePolicies?, now: Timestamp
    ) {
        self.policies = policies
        self.authority = authority
        bases = BaseImages(storage)
        writeGuard = authority.map { WriteGuard(over: storage, schema: storage.schema, binding: $0) }
        var transactionLimits = limits
        transactionLimits.operationCount = operationCountMax
        self.transactionLimits = transactionLimits
        self.limits = limits
        self.storage = storage
        self.now = max(now, storage.groupAcceptedAt)
        schema = storage.schema
        check = OperationCheck(schema: schema, limits: limits)
        version = storage.version
        latestTime = storage.latestTimestamp?.microseconds ?? 0
        objects = GroupObjects(storage)
        templates = Array(repeating: nil, count: schema.classes.count)
    }

    mutating func template(ofClass classIndex: Int) -> Merger.Template {
        if let known = templates[classIndex] { return known }
        let made = Merger.Template(schema[classIndex])
        templates[classIndex] = made
        return made
    }

    /// Merges an upload: accepts it, rejects it, or acknowledges it again.
    ///
    /// - Throws: ``StorageError`` when the state cannot be read.
    mutating func accept(_ upload: Upload) throws {
        let changeset = upload.changeset
        if upload.clientID != Upload.serverClientID {
            let accepted = try progress[upload.clientID] ?? storage.acceptedSequence(of: upload.clientID)
            acknowledged[upload.session] = max(accepted, changeset.sequence)
            guard changeset.sequence > accepted else { return }
            progress[upload.clientID] = changeset.sequence
        }
        if let problem = upload.problem { return reject(upload, problem) }
        if let creations = changeset.creations, changeset.jobs.isEmpty, try accept(creations, of: upload) { return }
        expandRuns()
        try acceptOperations(of: upload)
    }

    /// Merges an upload operation by operation.
    private mutating func acceptOperations(of upload: Upload) throws {
        var upload = upload
        upload.changeset.expand()
        let changeset = upload.changeset
        if let excess = transactionLimits.excess(of: changeset.operations) {
            return reject(upload, .init(code: .limitExceeded, message: excess.description))
        }
        for (index, operation) in changeset.operations.enumerated() {
            guard let problem = check.problem(with: operation) else { continue }
            // It may have been made when a property was of a narrower type.
            let fitting = check.fitting(operation)
            guard check.problem(with: fitting) == nil else {
                // A rejection is stored, and told again at every opening: it must stay small.
                let isNamed = limits.excess(of: operation.object.key, in: "") == nil
                let reason = ServerMessage.Rejection.Reason(
                    object: isNamed ? operation.object : nil, code: .invalidOperation, message: problem)
                return reject(upload, reason)
            }
            upload.changeset.operations[index] = fitting
        }
        do {
            try merge(upload)
        } catch let excess as LimitExcess {
            reject(upload, .init(code: .limitExceeded, message: excess.description))
        } catch let rejection as TransactionRejection {
            reject(upload, rejection.reasons)
        } catch let conflict as JobConflict {
            reject(upload, conflict.reason)
        }
    }

    private mutating func reject(_ upload: Upload, _ reason: ServerMessage.Rejection.Reason) {
        reject(upload, [reason])
    }

    private mutating func reject(_ upload: Upload, _ reasons: [ServerMessage.Rejection.Reason]) {
        let rejection = ServerMessage.Rejection(sequence: upload.changeset.sequence, reasons: reasons)
        defer { rejections.append(.init(session: upload.session, rejection: rejection)) }
        // This process is told at once.
        guard upload.clientID != Upload.serverClientID else { return }
        steps.append(
            .rejection(client: upload.clientID, sequence: rejection.sequence, notice: rejection.wireBytes()))
    }

    /// - Throws: ``LimitExcess`` when the upload would make an object too large, ``TransactionRejection`` when its author
    ///   may not do what it does or a validator refuses it, and ``JobConflict`` when what a database keeps of a job is not
    ///   what its author knows; nothing of it counts then.
    private mutating func merge(_ upload: Upload) throws {
        let changeset = upload.changeset
        var transaction = transaction(of: upload, kinds: changeset.operations.kinds)
        let stamp = WriteStamp(timestamp: transaction.timestamp, clientID: upload.clientID, version: version + 1)
        var (metCount, updatedCount) = (0, 0)
        var touched: [TouchedObject] = []
        touched.reserveCapacity(changeset.operations.count)
        objects.reserveCapacity(changeset.operations.count)
        uploadCount += 1
        for operation in changeset.operations.withoutDeleted {
            let number = objects.number(of: operation.object)
            let place = objects.place(of: number, in: uploadCount, next: touched.count)
            if place == touched.count { touched.append(try touch(operation, number, for: upload.session)) }
            var operation = operation
            if !changeset.jobs.isEmpty,
                let update = try update(operation, of: &touched[place], since: changeset.baseVersion, stamp)
            {
                operation = update
                updatedCount += 1
            }
            if case .create = operation.action, touched[place].old != nil, touched[place].merger.row != nil {
                metCount += 1
                metCounts[operation.object.classIndex, default: 0] += 1
            }
            if let writeGuard {
                operation = try revealing(operation, of: touched[place], upload, writeGuard)
                try note(operation, of: &touched[place], writeGuard)
            }
            let isResolved = policies?.resolves(operation.object.classIndex) ?? false
            let history =
                touched[place].isUnknown
                ? ObjectHistory()
                : try history(
                    of: &touched[place], since: changeset.baseVersion, for: operation, stamp, isWhole: isResolved)
            let isOfAnother = touched[place].merger.isOfAnother(operation, by: stamp, history)
            if case .delete = operation.action {
                if isOfAnother { touched[place].wouldDelete = true } else { touched[place].deletes = true }
            }
            if case .create = operation.action, isOfAnother { touched[place].isCreatedInVain = true }
            if isResolved, !isOfAnother { touched[place].note(operation, by: upload, history) }
            touched[place].merger.apply(operation, author: stamp, history: history)
        }
        if let policies { try resolve(&touched, upload, policies) }
        try writeGuard?.judge(
            touched.filter { !$0.isHidden }.map {
                .init(
                    $0.object, old: $0.old, new: $0.merger.row, isDeleted: $0.deletes, wouldBeDeleted: $0.wouldDelete,
                    isLeft: $0.merger.isLeft, named: $0.named)
            }, by: upload.session)
        if let policies, upload.session != .server, try validate(&touched, upload, policies) {
            writeGuard?.note(touched.filter { !$0.isHidden }.map { ($0.object, $0.merger.row) })
        }
        // By position: a copy of each would cost as much as everything else here.
        for place in touched.indices {
            guard let row = touched[place].merger.row else { continue }
            let object = touched[place].object
            let name = template(ofClass: object.classIndex).name
            guard let excess = limits.excess(of: row, replacing: touched[place].old, in: name) else { continue }
            throw writeGuard?.rejection(of: object, for: excess, by: upload.session) ?? excess
        }
        let jobs = try judgeJobs(of: upload, touched)
        // What this process keeps of its jobs alone makes no version. An empty transaction of its own moves the time.
        if changeset.operations.isEmpty, !changeset.jobs.isEmpty, upload.clientID == Upload.serverClientID {
            return append(jobs)
        }
        version += 1
        var changes: [JournalChange] = []
        changes.reserveCapacity(touched.count)
        for place in touched.indices {
            supersededCount += touched[place].merger.supersededCount
            if touched[place].isCreatedInVain, touched[place].merger.row == nil, !touched[place].isHidden {
                createdInVain.append((upload.session, touched[place].object, touched[place].number))
            }
            guard let change = touched[place].change(by: stamp, base: changeset.baseVersion) else { continue }
            // Whether its author may delete an object that is not there, no rule can say.
            if writeGuard != nil, change.kind == .delete, change.deletes { continue }
            var row = touched[place].merger.row
            row?.version = version
            if change.kind == .create { row?.closeLists() }
            objects.set(
                row, of: touched[place].number, isReset: change.kind != .update,
                isLineaged: change.creates || change.deletes || change.kind == .delete)
            known.numbers.append(touched[place].number)
            if change.kind == .create, let row { known.created.append(row) }
            changes.append(change)
        }
        transaction.changes = changes
        transaction.nameEffects(metCount: metCount + updatedCount)
        append(transaction)
        append(jobs)
    }

    /// What an upload becomes, as yet without changes.
    func transaction(of upload: Upload, kinds: Set<OperationKind>) -> JournalTransaction {
        // Limited, so that a clock far ahead cannot win every merge.
        let limit = now.microseconds + HybridClock.driftMax
        var time = min(upload.changeset.timestamp.microseconds, limit)
        // A job's transaction counts only at the state that it knows, so what was written before does not win over it,
        // whatever the clocks of the authors say.
        if !upload.changeset.jobs.isEmpty { time = max(time, min(latestTime, .max - 1) + 1) }
        return JournalTransaction(
            clientID: upload.clientID, sequence: upload.changeset.sequence, userID: upload.userID,
            timestamp: HybridTimestamp(microseconds: time), kinds: kinds, changes: [])
    }

    /// Appends the transaction that makes ``version``.
    mutating func append(_ transaction: JournalTransaction) {
        latestTime = max(latestTime, transaction.timestamp.microseconds)
        groupHistory.append(transaction, version: version)
        steps.append(.transaction(transaction))
    }

    /// An operation in terms of the lists as they are, where its author is shown them in another way; without the
    /// defaults, which nobody chose, of what its author may not write: whether they would change an object that is
    /// there must not decide the answer, since the author may not know.
    private mutating func revealing(
        _ operation: ObjectOperation, of touched: TouchedObject, _ upload: Upload, _ writeGuard: WriteGuard
    ) throws -> ObjectOperation {
        // These are the ones that edit, and those with defaults.
        guard operation.yieldsToEarlierWrites, let old = touched.old else { return operation }
        var fields = operation.fields
        try fields.removeAll { field in
            guard case .setDefault = field.change else { return false }
            return try writeGuard.closes(field.property, of: operation.object, old, to: upload.session)
        }
        for (place, field) in fields.enumerated() {
            guard case .editList(let edits) = field.change,
                let list = writeGuard.veiledList(field.property, of: operation.object, from: upload.session)
            else { continue }
            var rows = [old]
            let version = upload.changeset.baseVersion
            if old.version > version {
                let before = try objects.before(touched.number, of: operation.object)
                if let known = try bases.image(of: operation.object, at: version, before: before) {
                    rows.insert(known, at: 0)
                }
            }
            fields[place].change = .editList(try writeGuard.revealing(edits, of: list, in: rows, by: upload.session))
        }
        switch operation.action {
        case .create: return ObjectOperation(operation.object, .create(fields))
        case .update: return ObjectOperation(operation.object, .update(fields))
        case .delete: return operation
        }
    }

    /// Notes what an operation does to an object, for judging the transaction.
    private func note(
        _ operation: ObjectOperation, of touched: inout TouchedObject, _ writeGuard: WriteGuard
    ) throws {
        if touched.isHidden, case .create = operation.action { throw writeGuard.rejection(ofCreating: touched.object) }
        for field in operation.fields { touched.named.insert(field.property) }
    }

    private mutating func touch(
        _ operation: ObjectOperation, _ number: Int, for session: SessionID
    ) throws -> TouchedObject {
        let object = operation.object
        var isUnknown = false
        // Of a new object usually nothing is known, which costs less to find out than to read it.
        if case .create = operation.action, !objects.isKnown(number) { isUnknown = try !storage.knows(object) }
        var old = isUnknown ? nil : try objects.row(number, of: object)
        var isHidden = false
        if let writeGuard, let row = old, try writeGuard.hides(row, of: object, from: session) {
            old = nil
            isHidden = true
        }
        return TouchedObject(
            object: object, number: number, old: old, isUnknown: isUnknown, isHidden: isHidden,
            merger: Merger(
                old, of: template(ofClass: object.classIndex),
                leavesListsBehind: writeGuard == nil && policies == nil))
    }

    /// The steps without the rejections that would be dropped at once, since later ones of the same client follow.
    private var storedSteps: [JournalStep] {
        guard rejections.count > Self.rejectionCountMax else { return steps }
        var counts: [UInt64: Int] = [:]
        let kept = steps.reversed().filter { step in
            guard case .rejection(let client, _, _) = step else { return true }
            counts[client, default: 0] += 1
            return counts[client, default: 0] <= Self.rejectionCountMax
        }
        return kept.reversed()
    }

    private static let rejectionCountMax = SQLiteServerStorage.rejectionCountMax

    /// The result. Read it once, after the last upload.
    ///
    /// - Parameter others: the steps that the group has beside those of the uploads.
    func prepared(workerID: String?, with others: [JournalStep]) -> PreparedGroup {
        let steps = storedSteps + others
        let group = JournalGroup(baseVersion: storage.version, acceptedAt: now, workerID: workerID, steps: steps)
        var known = known
        known.before = objects.before
        return PreparedGroup(
            group: group, record: steps.isEmpty ? nil : JournalRecord(group, after: storage.head), head: storage.head,
            known: known, acknowledged: acknowledged, rejections: rejections,
            createdInVain: Dictionary(grouping: createdInVain.filter { !objects.isPresent($0.number) }, by: \.session)
                .mapValues { $0.map(\.object) },
            supersededCount: supersededCount, metCounts: metCounts)
    }
}

extension JournalTransaction {
    /// Names a creation that met an object with its key as what it was: it has set properties.
    ///
    /// - Parameter metCount: how many creations of the transaction did.
    fileprivate mutating func nameEffects(metCount: Int) {
        guard metCount > 0 else { return }
        kinds.insert(.set)
        if !changes.contains(where: { $0.kind != .update && $0.kind != .delete }) { kinds.remove(.create) }
    }
}
