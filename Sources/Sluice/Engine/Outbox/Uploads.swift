internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Sends the changesets of the outbox to the server, and knows which are under way.
final class Uploads {
    private let storage: SQLiteClientStorage
    private let session: SyncSession
    private let schema: SchemaAgreement
    private let faults: FaultRecorder
    private let options: ClientOptions
    private let now: () -> Timestamp
    private let log: LogSink?
    /// The transactions over which the server may have ended the connection.
    private var quarantine = UploadQuarantine()
    /// The highest sequence that was sent in this session.
    private(set) var sentSequence: UInt64 = 0
    private var underWay = UploadsUnderWay()
    private var pace: UploadPace
    /// What was under way when the last session ended, of which the next says how much has arrived.
    private var unanswered = UploadsUnderWay()
    /// What the server has acknowledged since the store was opened.
    private(set) var acknowledged = TransferAmount()
    /// Why the server accepts no uploads in this session, which the outbox keeps; nil if it does.
    private(set) var problem: SyncError?

    init(
        _ storage: SQLiteClientStorage, _ session: SyncSession, _ schema: SchemaAgreement, faults: FaultRecorder,
        options: ClientOptions, now: @escaping () -> Timestamp, log: LogSink?
    ) {
        self.storage = storage
        self.session = session
        self.schema = schema
        self.faults = faults
        self.options = options
        self.now = now
        pace = UploadPace(quickAnswerTime: options.quickAnswerTime)
        self.log = log
    }

    // MARK: The session

    /// - Parameter acknowledged: the last changeset that the server has.
    func beginSession(at sequence: UInt64) {
        sentSequence = sequence
        acknowledged += unanswered.remove(through: sequence)
        unanswered = UploadsUnderWay()
    }

    func endSession() {
        sentSequence = 0
        if underWay.range != nil { unanswered = underWay }
        underWay = UploadsUnderWay()
        pace = UploadPace(quickAnswerTime: options.quickAnswerTime)
        problem = nil
    }

    /// Sends nothing more in this session.
    func stop(because error: SyncError) { problem = error }

    /// Suspects the uploads under way of having made the server end the connection. They are sent again one at a time.
    ///
    /// - Returns: false if none was under way.
    func suspect(because reason: String) -> Bool {
        guard session.isActive, let travelling = underWay.range else { return false }
        quarantine.noteBreak(over: travelling, because: reason)
        log?(
            .warning, "the server ended the connection while uploads travelled; they are sent again one at a time",
            [("reason", reason), ("sequence", "\(travelling.lowerBound)")])
        return true
    }

    func noteAcknowledged(_ sequence: UInt64) {
        acknowledged += underWay.remove(through: sequence)
        pace.noteAcknowledged(through: sequence, at: now())
        quarantine.noteAcknowledged(sequence)
    }

    /// Whether the uploads under way up to `sequence` change objects of classes that meet a condition.
    func change(through sequence: UInt64, where meets: (_ classIndex: Int) -> Bool) -> Bool {
        underWay.changes(through: sequence, where: meets)
    }

    /// A rejection with the reason why a placeholder was sent, if one was.
    func explained(_ rejection: ServerMessage.Rejection) -> ServerMessage.Rejection { quarantine.explained(rejection) }

    /// Forgets transactions that have left the outbox.
    func forget(through sequence: UInt64) { quarantine.forget(through: sequence) }

    // MARK: Sending

    /// Uploads the changesets in the outbox that were not sent yet, as far as the limits for unacknowledged uploads
    /// allow.
    ///
    /// - Parameter written: what was just added to the outbox. If it is next, the outbox need not be read, and it may wait
    ///   for an acknowledgement.
    func pump(with written: OutboxEntry? = nil) {
        guard session.isActive, !options.isReadOnly, !schema.awaitsAnswer, problem == nil, let map = schema.map,
            schema.isReached
        else { return }
        if let written, holds(written) { return }
        var batch = UploadBatch()
        let known = pace.takeHeld() + (written.map { [$0] } ?? [])
        if let first = known.first, first.changeset.sequence &- 1 == sentSequence,
            known.last?.changeset.sequence == storage.lastSequence
        {
            for entry in known { guard add(entry, to: &batch, map) else { break } }
        } else {
            faults.recording("the outbox could not be read") {
                try storage.forEachOutboxEntry(after: sentSequence) { add($0, to: &batch, map) }
            }
        }
        send(&batch)
    }

    /// Whether written transactions wait for the acknowledgement of what is under way.
    var isHolding: Bool { pace.lastHeld != nil }

    /// Whether what was just written waits for the acknowledgement of what is under way.
    private func holds(_ written: OutboxEntry) -> Bool {
        guard underWay.range != nil, written.changeset.sequence &- 1 == pace.lastHeld ?? sentSequence else {
            return false
        }
        return pace.holds(written, behind: underWay.size.operationCount, at: now())
    }

    /// - Returns: false if the changeset has to wait.
    private func add(_ entry: OutboxEntry, to batch: inout UploadBatch, _ map: SchemaMap) -> Bool {
        let changeset = entry.changeset
        let classes = changeset.classes
        let travelling = underWay.size
        guard session.isActive, travelling.operationCount < options.inFlightOperationCountMax,
            travelling.data.byteCount < options.inFlightByteCountMax,
            underWay.range == nil || !quarantine.mustTravelAlone(changeset.sequence)
        else { return false }
        var upload = EncodedUpload(changeset)
        if quarantine.isSetAside(changeset.sequence) {
            upload.encodePlaceholder()
        } else if let bytes = entry.bytes, classes.allSatisfy(map.isSame) {
            // What is stored is what travels.
            guard !declareNeeded(for: changeset, areComplete: true) else { return false }
            upload.bytes = bytes
            upload.size = UploadSize(changeset)
        } else {
            let operations = changeset.operations.compactMap(map.toServer)
            let isComplete = operations.count == changeset.operationCount
            guard !declareNeeded(for: changeset, areComplete: isComplete) else { return false }
            upload.encode(operations)
        }
        let size = upload.size
        // No frame may outgrow what servers accept.
        if batch.size.data.byteCount + size.data.byteCount > session.limits.uploadByteCountMax
            || batch.size.data.elementCount + size.data.elementCount > options.dataLimits.transactionElementCount
        {
            send(&batch)
        }
        batch.uploads.append(upload)
        batch.size = batch.size + size
        sentSequence = changeset.sequence
        underWay.append(changeset.sequence, size, classes: classes)
        if batch.size.operationCount >= options.uploadOperationCountMax { send(&batch) }
        return true
    }

    /// Declares to the server the classes and properties that it lacks and that a changeset needs.
    ///
    /// - Returns: whether there are any, so that the changeset has to wait for the server's answer.
    private func declareNeeded(for changeset: Changeset, areComplete: Bool) -> Bool {
        var needed: Schema?
        faults.recording("what an upload needs could not be declared") {
            needed = try schema.needed(for: changeset, areComplete: areComplete)
        }
        guard let needed else { return false }
        session.send([.declare(session: session.number, schema: needed)])
        return true
    }

    private func send(_ batch: inout UploadBatch) {
        guard !batch.uploads.isEmpty, session.isActive else { return }
        var uploads = batch.uploads
        batch = UploadBatch()
        pace.noteSent(through: uploads[uploads.count - 1].sequence, at: now())
        func sealed() -> Result<[UInt8], SyncError> {
            session.limits.frame(uploading: uploads.map(\.bytes), session: session.number)
        }
        switch sealed() {
        case .success(let frame): session.send(frame: frame)
        case .failure(let error):
            guard uploads.count == 1 else { return session.refuse(error) }
            // It was made for a server that accepts more.
            quarantine.setAside(uploads[0].sequence, .limitExceeded, error.message)
            uploads[0].encodePlaceholder()
            if case .success(let frame) = sealed() { session.send(frame: frame) }
        }
    }
}

extension Changeset {
    /// The classes of the objects that the changeset changes, each once.
    fileprivate var classes: [Int] {
        if let creations { return [creations.classIndex] }
        var classes: [Int] = []
        for operation in operations where operation.object.classIndex != classes.last {
            if !classes.contains(operation.object.classIndex) { classes.append(operation.object.classIndex) }
        }
        return classes
    }
}

/// Transactions on their way into one frame.
private struct UploadBatch {
    var uploads: [EncodedUpload] = []
    var size = UploadSize()
}

/// A transaction as it travels.
private struct EncodedUpload {
    private var header: Changeset
    var bytes: [UInt8] = []
    var size = UploadSize()

    init(_ changeset: Changeset) {
        header = changeset
        header.operations = []
    }

    var sequence: UInt64 { header.sequence }

    mutating func encode(_ operations: [ObjectOperation]) {
        var changeset = header
        changeset.operations = operations
        bytes = changeset.wireBytes()
        size = UploadSize(changeset)
    }

    /// Has the server reject the transaction.
    mutating func encodePlaceholder() { encode([UploadQuarantine.placeholder]) }
}
