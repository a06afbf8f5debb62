internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// What was written here and the server does not have yet: local transactions from their commit, through the upload, to
/// the acknowledgement or rejection that retires them.
///
/// The changesets are on disk. An acknowledged one stays there until the server's state of its objects is here, too, so
/// that what is shown never goes back.
final class Outbox {
    private let storage: SQLiteClientStorage
    private let transactions: StoreTransactions
    private let active: ActiveSubscriptions
    private let waiters: SyncWaiters
    private let faults: FaultRecorder
    private let now: () -> Timestamp
    /// Whether a server may keep a lasting record of what was uploaded.
    private let hasRecord: Bool
    private let acknowledgements: Acknowledgements
    private let writes: LocalWrites
    private let uploads: Uploads
    private let settlement: OutboxSettlement
    private let postponed: PostponedAcknowledgements
    private let receipts = WriteReceipts()
    private let transfers: TransferReports
    /// Called for each write that the server rejected, once its reversal is stored.
    var onRejection: ((WriteRejection) -> Void)?

    init(
        _ storage: SQLiteClientStorage, _ transactions: StoreTransactions, _ session: SyncSession,
        _ schema: SchemaAgreement, _ images: ObjectImages, _ active: ActiveSubscriptions,
        _ acknowledgements: Acknowledgements, _ waiters: SyncWaiters, _ offers: KeptObjectOffers,
        _ rejected: StoredRejections,
        _ transfers: TransferReports, faults: FaultRecorder, options: ClientOptions,
        now: @escaping () -> Timestamp, random: @escaping () -> UInt64, log: LogSink?
    ) {
        self.storage = storage
        self.transactions = transactions
        self.active = active
        self.waiters = waiters
        self.faults = faults
        self.now = now
        self.transfers = transfers
        self.acknowledgements = acknowledgements
        hasRecord = !options.isReadOnly && !options.isShortLived
        writes = LocalWrites(
            storage, transactions, session, images, rejected, options: options, now: now, random: random)
        uploads = Uploads(storage, session, schema, faults: faults, options: options, now: now, log: log)
        settlement = OutboxSettlement(
            storage, schema, images, ObjectMemberships(storage, active), acknowledgements, offers, rejected, transfers,
            keepsRejected: options.keepsRejectedWrites)
        postponed = PostponedAcknowledgements(session, active, acknowledgements, uploads)
    }

    var isEmpty: Bool { storage.outboxCount == 0 }

    /// The highest sequence that has left the outbox; 0 if none has.
    var retiredSequence: UInt64 { storage.lastSequence - UInt64(storage.outboxCount) }

    /// The sequence of the last transaction that was written; 0 if there is none.
    var lastSequence: UInt64 { storage.lastSequence }

    /// What the server has acknowledged since the store was opened.
    var uploaded: TransferAmount { uploads.acknowledged }

    /// The highest sequence that the server is known to have.
    ///
    /// A server may say that it has more than was ever written.
    var acknowledgedSequence: UInt64 { min(max(acknowledgements.sequence, retiredSequence), storage.lastSequence) }

    /// Why the server accepts no uploads in this session; nil if it does.
    var problem: SyncError? { uploads.problem }

    /// Compares this device's clock with the server's.
    func compareClock(with server: Timestamp, asked: Timestamp) { writes.compareClock(with: server, asked: asked) }

    // MARK: Writing and uploading

    /// Runs a local write transaction, and uploads it.
    func write<Result>(_ body: (LocalWriter) throws -> Result) throws -> Result {
        let (result, written, receipt) = try writes.write(body)
        if let receipt { receipts.add(receipt, sequence: written?.changeset.sequence) }
        uploads.pump(with: written)
        if uploads.isHolding { postponed.setTimer() }
        return result
    }

    /// Queues everything that was written while this store had no server.
    func queueUnsyncedObjects() throws { try writes.queueUnsyncedObjects() }

    /// Uploads what was not sent yet, as far as the limits allow.
    func pump() { uploads.pump() }

    /// Suspects the uploads under way of having made the server end the connection.
    ///
    /// - Returns: false if none was under way.
    func suspectUploads(because reason: String) -> Bool { uploads.suspect(because: reason) }

    /// Sends no more uploads in this session, and fails those who wait for them.
    func stopUploads(because error: SyncError) {
        uploads.stop(because: error)
        waiters.notify(.uploaded, .failure(error))
    }

    // MARK: The session

    /// After the end of a process with an open session, everything in the outbox may have been sent.
    func recover() throws {
        guard try UploadMark.stored(in: storage) == .open else { return }
        try transactions.run(.local) { _ in try mark(.through(storage.lastSequence)) }
    }

    /// Notes on disk, in the open transaction, that everything in the outbox may be sent from now on.
    func markOpen() throws { try mark(.open) }

    private func mark(_ mark: UploadMark) throws {
        if hasRecord { try mark.store(in: storage) }
    }

    /// Takes in what the server has of the uploads of earlier sessions.
    func beginSession(acknowledged: UInt64, _ rejections: [ServerMessage.Rejection]) {
        acknowledgements.begin(at: acknowledged, rejections.map(uploads.explained))
        uploads.beginSession(at: acknowledged)
    }

    /// - Parameter wasOpen: whether uploads could be sent.
    func endSession(wasOpen: Bool) {
        if wasOpen {
            faults.recording("how far uploads have come could not be noted") {
                try transactions.run(.local) { _ in try mark(.through(uploads.sentSequence)) }
            }
        }
        uploads.endSession()
        acknowledgements.begin()
        postponed.forget()
    }

    /// Rejects the writes that may have been sent to a server that has forgotten this client.
    func rejectUncertainUploads() throws {
        guard case .through(let sequence) = try UploadMark.stored(in: storage), !isEmpty else { return }
        try transactions.run(.local) { _ in
            try settlement.reject(through: sequence, because: OutboxSettlement.forgotten)
        }
        report()
    }

    /// Drops everything, in the open transaction, and reports what the server does not have.
    ///
    /// - Parameter acknowledged: the last changeset that the server had accepted.
    func discard(acknowledged: UInt64) throws {
        try settlement.drop(through: acknowledged)
        try settlement.reject(through: storage.lastSequence, because: OutboxSettlement.discarded)
    }

    // MARK: What the server says

    /// Notes what content acknowledges and rejects, before the images that it brings are shown.
    func note(_ content: some Sequence<ServerContent>) {
        for case .commit(let commit) in content {
            if let acknowledged = commit.header.acknowledged { note(acknowledged: acknowledged) }
        }
        for case .rejected(let rejected) in content {
            acknowledgements.note([uploads.explained(rejected.rejection)])
        }
    }

    private func note(acknowledged sequence: UInt64) {
        acknowledgements.note(sequence)
        uploads.noteAcknowledged(sequence)
    }

    private var canRetire: Bool { !active.awaitsCatchUp && acknowledgements.sequence > retiredSequence && !isEmpty }

    /// Removes acknowledged changesets, in the open transaction.
    func retire(_ transaction: StoreTransaction) throws {
        if canRetire { try settlement.retire(transaction) }
    }

    /// Removes acknowledged changesets, unless the outbox still waits for the server to catch up.
    func retire() throws {
        // Without complete subscriptions there is no catch-up to wait for.
        if active.completeCount == 0 { active.awaitsCatchUp = false }
        guard canRetire else { return }
        try transactions.run(.catchUp(acceptedAt: now())) { try settlement.retire($0) }
        finishRetiring()
    }

    /// Shows the server's state again instead of rejected values; nil for those of all objects.
    func discardRejected(of objects: Set<ObjectRef>?) throws {
        try transactions.run(.local) { try settlement.discardRejected(of: objects, $0) }
    }

    /// Reports what a transaction has retired, after it is stored.
    func finishRetiring() {
        report()
        if !waiters.isEmpty(.uploaded) { waiters.notify(.uploaded, .success(isEmpty)) }
    }

    private func report() {
        if !active.awaitsCatchUp {
            acknowledgements.forgetRejections()
            uploads.forget(through: acknowledgements.sequence)
        }
        let (reports, verdicts) = settlement.takeReports()
        receipts.reject(verdicts)
        receipts.acknowledge(through: retiredSequence)
        for report in reports { onRejection?(report) }
    }

    // MARK: Postponing

    /// Notes content that only acknowledges, to be stored by a later transaction.
    ///
    /// - Returns: false, and nothing is noted, if it has to be applied now.
    func postpones(_ content: [ServerContent]) -> Bool {
        // Who waits for uploads, or wants to be told of them, is told at once.
        guard waiters.isEmpty(.uploaded), !transfers.hasListeners(),
            let acknowledged = postponed.note(content, retired: retiredSequence)
        else { return false }
        note(acknowledged: acknowledged)
        return true
    }

    /// Stores what was postponed, in a transaction of its own.
    func storePostponed() {
        guard !postponed.isEmpty, !storage.isInTransaction else { return }
        faults.recording("acknowledgements could not be stored") { try transactions.run(.local) { _ in } }
    }

    func timerFired() {
        postponed.timerFired()
        storePostponed()
        if uploads.isHolding { uploads.pump() }
    }

    // MARK: Transactions

    /// Stores what was postponed, in the open transaction.
    func transactionDidBegin(_ transaction: StoreTransaction) throws {
        guard let version = postponed.versionToStore else { return }
        try storage.advance(to: version)
        try retire(transaction)
    }

    func transactionDidCommit() {
        postponed.forget()
        receipts.reject(settlement.verdicts)
        receipts.acknowledge(through: retiredSequence)
    }

    func transactionDidRollBack() {
        _ = settlement.takeReports()
        transfers.rollBack()
    }
}
