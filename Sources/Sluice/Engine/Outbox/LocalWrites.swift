internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Runs local transactions, and appends their operations to the outbox.
final class LocalWrites {
    private let storage: SQLiteClientStorage
    private let transactions: StoreTransactions
    private let session: SyncSession
    private let images: ObjectImages
    private let rejected: StoredRejections
    private let options: ClientOptions
    private let now: () -> Timestamp
    private var clock: HybridClock
    /// Names the elements of lists that are inserted here; made when it is first needed.
    private lazy var elementIDs = ObjectIDGenerator(origin: random())
    private let random: () -> UInt64

    init(
        _ storage: SQLiteClientStorage, _ transactions: StoreTransactions, _ session: SyncSession,
        _ images: ObjectImages, _ rejected: StoredRejections, options: ClientOptions, now: @escaping () -> Timestamp,
        random: @escaping () -> UInt64
    ) {
        self.random = random
        self.rejected = rejected
        self.storage = storage
        self.transactions = transactions
        self.session = session
        self.images = images
        self.options = options
        self.now = now
        let correction = ((try? storage.metadata(Self.correction)) ?? nil).flatMap {
            Int64(String(decoding: $0, as: UTF8.self))
        }
        // What is out of range is damaged; the next session finds the right one again.
        let possible = correction.flatMap { $0.magnitude <= UInt64(HybridClock.distanceMax) ? $0 : nil }
        clock = HybridClock(last: storage.clock, correction: possible ?? 0)
    }

    private static let correction = "clock.correction"

    /// Compares this device's clock with the server's, so that the times of writes are right although the clock is not.
    /// What it lacks is stored: it holds offline too, and after a restart.
    ///
    /// - Parameters:
    ///   - server: the server's clock.
    ///   - asked: when the server was asked.
    func compareClock(with server: Timestamp, asked: Timestamp) {
        guard clock.compare(with: server, asked: asked, now: now()), storage.obstacle == nil else { return }
        let text = clock.correction == 0 ? nil : Array("\(clock.correction)".utf8)
        // If it cannot be stored, it holds until the store is closed, and the next session finds it again.
        try? storage.transaction { try storage.setMetadata(Self.correction, text) }
    }

    /// Runs a local write transaction: either all of it is stored and queued for upload, or nothing.
    ///
    /// - Returns: the result of `body`, what is to be uploaded, nil if nothing is, and the receipt if one was made.
    func write<Result>(
        _ body: (LocalWriter) throws -> Result
    ) throws -> (result: Result, written: OutboxEntry?, receipt: WriteReceipt?) {
        guard !options.isReadOnly || storage.schema.hasLocalClasses else { throw StoreError.readOnlySync }
        return try transactions.run(.local) { transaction in
            let writer = LocalWriter(
                transaction, schema: storage.schema, limits: options.dataLimits, isRecording: records,
                isReadOnly: options.isReadOnly
            ) {
                let time = self.clock.next(now: self.now()).microseconds
                return ListEdits.Author(origin: self.elementIDs.origin, time: max(1, time), ids: self.elementIDs)
            }
            let result = try body(writer)
            return (result, try enqueue(writer), writer.receipt)
        }
    }

    /// Whether writes are queued for upload: to the present server, or to an earlier one that the store may connect to
    /// again.
    private var records: Bool { options.syncs || storage.syncState != nil || storage.outboxCount > 0 }

    /// Adds the writer's operations to the outbox, and keeps the server image of each object on which they are the
    /// first.
    ///
    /// - Returns: what was added; nil if nothing was.
    private func enqueue(_ writer: LocalWriter) throws -> OutboxEntry? {
        guard records, !writer.isEmpty else { return nil }
        if let created = writer.creations, areNew(created), let creations = Creations(created) {
            if let excess = session.limits.transaction.excess(of: creations) { throw StoreError(excess) }
            var changeset = try makeChangeset()
            changeset.creations = creations
            return try storage.appendToOutbox(changeset)
        }
        if let excess = session.limits.transaction.excess(of: writer.operations) { throw StoreError(excess) }
        // An object that was not here has no server image to keep.
        let known = writer.firstImages.filter { $0.old != nil || images.unconfirmed.contains($0.object) }
        let written = known.isEmpty ? [] : Set(writer.operations.map(\.object))
        for (object, old) in known where try written.contains(object) && !storage.hasPending(object) {
            // Nothing of the object is pending, so its present row is the server's image.
            try images.keep(old, of: object)
        }
        let entry = try enqueue(writer.operations, writer.jobs)
        try rejected.overwrite(writer.operations)
        return entry
    }

    /// Whether no server image of the created objects has to be kept, and no rejected value of them is shown.
    private func areNew(_ creations: CreationColumns) -> Bool {
        guard storage.keptObjects.isEmpty else { return false }
        return images.unconfirmed.isEmpty
            || !creations.keys.contains { images.unconfirmed.contains(ObjectRef(creations.classIndex, $0)) }
    }

    @discardableResult
    private func enqueue(_ operations: [ObjectOperation], _ jobs: [JobWrite] = []) throws -> OutboxEntry {
        var changeset = try makeChangeset()
        changeset.operations = operations
        changeset.jobs = jobs
        return try storage.appendToOutbox(changeset)
    }

    /// The next changeset, made at the present time, without operations.
    private func makeChangeset() throws -> Changeset {
        let timestamp = clock.tick(now: now())
        try storage.setClock(timestamp)
        return Changeset(
            sequence: storage.lastSequence + 1, baseVersion: storage.syncState?.version ?? 0, timestamp: timestamp,
            operations: [])
    }

    /// Queues everything that was written while this store had no server, as creations at the present time.
    func queueUnsyncedObjects() throws {
        guard !options.isReadOnly, storage.syncState == nil, storage.lastSequence == 0 else { return }
        let classes = storage.schema.classes
        guard try classes.indices.contains(where: { try !classes[$0].isLocal && storage.count(ofClass: $0) > 0 }) else {
            return
        }
        try transactions.run(.local) { _ in
            var operations: [ObjectOperation] = []
            var byteCount = 0
            var edited: [ObjectRef] = []
            for (classIndex, declared) in classes.enumerated() where !declared.isLocal {
                let defaults = declared.defaultValues
                try storage.forEachRow(ofClass: classIndex) { row in
                    let object = ObjectRef(classIndex, row.key)
                    if !row.identities.isEmpty { edited.append(object) }
                    let operation = ObjectOperation.creating(
                        row, object, defaults: defaults, primaryKey: declared.primaryKeyIndex)
                    let size = operation.dataSize.byteCount
                    if operations.count >= options.uploadOperationCountMax
                        || byteCount + size > options.uploadByteCountMax, !operations.isEmpty
                    {
                        try enqueue(operations)
                        (operations, byteCount) = ([], 0)
                    }
                    operations.append(operation)
                    byteCount += size
                    return true
                }
            }
            if !operations.isEmpty { try enqueue(operations) }
            // The server gets the lists as wholes, which do not say what their elements were here.
            for object in edited { try forgetIdentities(of: object) }
        }
    }

    /// Has the elements of an object's lists named as those of lists that were set as a whole.
    private func forgetIdentities(of object: ObjectRef) throws {
        guard var row = try storage.row(object) else { return }
        let lists = PropertySet(row.identities.keys)
        for property in lists { row.setIdentity(nil, of: property) }
        try storage.update(row, ofClass: object.classIndex, changed: lists)
    }
}
