internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
package import SluiceWire

extension ClientEngine {
    /// Uploads the changesets in the outbox that were not sent yet, as far as the limits for unacknowledged uploads
    /// allow.
    ///
    /// - Parameter written: the changeset that was just added to the outbox. If it is next, the outbox need not be
    ///   read.
    func pumpUploads(with written: Changeset? = nil) {
        guard session.isActive, !options.isReadOnly, let map = session.map, !session.awaitsSchema,
            session.uploadProblem == nil, schemaIsAgreed
        else { return }
        var batch = UploadBatch()
        func add(_ changeset: Changeset) -> Bool {
            let travelling = session.underWay.size
            guard session.isActive, travelling.operationCount < options.inFlightOperationCountMax,
                travelling.data.byteCount < options.inFlightByteCountMax,
                session.underWay.range == nil || !quarantine.mustTravelAlone(changeset.sequence)
            else { return false }
            var translated = changeset
            if quarantine.isSetAside(changeset.sequence) {
                translated.operations = [UploadQuarantine.placeholder]
            } else {
                translated.operations = changeset.operations.compactMap(map.toServer)
                let isComplete = translated.operations.count == changeset.operations.count
                guard !declareNeeded(for: changeset, areComplete: isComplete) else { return false }
            }
            let size = UploadSize(translated.operations)
            // No frame may outgrow what servers accept.
            if batch.size.data.byteCount + size.data.byteCount > uploadByteCountMax
                || batch.size.data.elementCount + size.data.elementCount > options.dataLimits.transactionElementCount
            {
                sendUploads(of: &batch)
            }
            batch.changesets.append(translated)
            batch.size = batch.size + size
            session.sentSequence = changeset.sequence
            session.underWay.append(changeset.sequence, size)
            if batch.size.operationCount >= options.uploadOperationCountMax { sendUploads(of: &batch) }
            return true
        }
        if let written, written.sequence == session.sentSequence + 1 {
            _ = add(written)
        } else {
            recording("the outbox could not be read") {
                try storage.forEachOutboxChangeset(after: session.sentSequence, add)
            }
        }
        sendUploads(of: &batch)
    }

    /// Declares to the server the classes and properties that it lacks and that a changeset needs.
    ///
    /// - Returns: whether there are any, so that the changeset has to wait for the server's answer.
    private func declareNeeded(for changeset: Changeset, areComplete: Bool) -> Bool {
        var needed: Schema?
        recording("what an upload needs could not be declared") {
            needed = try declarations.needed(
                for: changeset.operations, areComplete: areComplete, store: schema, server: session.serverSchema)
        }
        guard let needed else { return false }
        session.awaitsSchema = true
        send([.declare(session: SyncSession.number, schema: needed)])
        return true
    }

    private func sendUploads(of batch: inout UploadBatch) {
        guard !batch.changesets.isEmpty, session.isActive else { return }
        let changesets = batch.changesets
        batch = UploadBatch()
        let upload = ClientMessage.upload(session: SyncSession.number, changesets: changesets)
        switch frame(of: [upload]) {
        case .success(let frame): actions.append(.send(frame))
        case .failure(let error):
            guard changesets.count == 1 else { return fail(error) }
            // It was made by an older version of this library, or for a server that accepts more.
            quarantine.setAside(changesets[0].sequence, .limitExceeded, error.message)
            var placeholder = changesets[0]
            placeholder.operations = [UploadQuarantine.placeholder]
            send([.upload(session: SyncSession.number, changesets: [placeholder])])
        }
    }

    /// Comes again after the server ended the connection over what may have been an upload.
    ///
    /// - Returns: false if none travelled.
    func suspectUploads(because reason: String) -> Bool {
        guard session.isActive, let travelling = session.underWay.range else { return false }
        quarantine.noteBreak(over: travelling, because: reason)
        log?(
            .warning, "the server ended the connection while uploads travelled; they are sent again one at a time",
            [("reason", reason), ("sequence", "\(travelling.lowerBound)")])
        actions.append(.disconnect)
        leaveForRetry(atLeast: .zero, because: reason)
        return true
    }

    /// Sends no more uploads in this session, and fails those who wait for them.
    func stopUploads(because error: SyncError) {
        session.uploadProblem = error
        for (id, waiter) in uploadWaiters where waiter(.failure(error)) { uploadWaiters[id] = nil }
    }

    /// The highest sequence that has left the outbox; 0 if none has.
    var retiredSequence: UInt64 { storage.lastSequence - UInt64(storage.outboxCount) }

    /// The highest sequence that the server is known to have.
    package var acknowledgedSequence: UInt64 { max(session.acknowledged, retiredSequence) }

    func noteAcknowledged(_ sequence: UInt64) {
        session.acknowledged = max(session.acknowledged, sequence)
        session.underWay.remove(through: sequence)
        quarantine.noteAcknowledged(sequence)
    }

    /// Records the server version that this store has reached, in the open transaction or in one of its own.
    func advance(to version: UInt64) throws {
        guard var state = storage.syncState, state.version < version else { return }
        state.version = version
        if storage.isInTransaction {
            try storage.setSyncState(state)
        } else {
            try transaction(.local) { _ in try storage.setSyncState(state) }
        }
    }

    /// Removes acknowledged changesets from the outbox, once complete subscriptions have the server's state after them.
    func retireOutbox() throws {
        guard canRetire else { return }
        try transaction(.remote([.snapshot(acceptedAt: now())])) { try retireOutbox(in: $0) }
        reportRejections()
        notifyUploaded()
    }

    private var canRetire: Bool {
        !session.awaitsCatchUp && session.acknowledged > 0 && storage.outboxCount > 0
    }

    /// Removes acknowledged changesets from the outbox, and reverts those that the server rejected.
    func retireOutbox(in transaction: StoreTransaction) throws {
        guard canRetire else { return }
        let rejections = session.rejections
        guard storage.subscriptionCount > 0 || !rejections.isEmpty else { return try retireUnasked() }
        var rejectedObjects: Set<ObjectRef> = []
        let changesets = try storage.removeFromOutbox(through: session.acknowledged)
        for changeset in changesets {
            guard let rejection = rejections[changeset.sequence] else { continue }
            unreportedRejections += reports(of: rejection, changeset)
            rejectedObjects.formUnion(changeset.operations.map(\.object))
        }
        let accepted = OperationsByObject(changesets.lazy.filter { rejections[$0.sequence] == nil })
        for object in changesets.objects {
            try reconcile(object, accepted: accepted, isRejected: rejectedObjects.contains(object), transaction)
        }
    }

    /// Removes acknowledged changesets from the outbox of a store without subscriptions. What was written stays.
    func retireUnasked() throws {
        let changesets = try storage.removeFromOutbox(through: session.acknowledged)
        let hasImages = try storage.hasBaseImages
        guard storage.outboxCount > 0 || hasImages else { return }
        let accepted = OperationsByObject(changesets)
        var seen: Set<ObjectRef> = []
        for changeset in changesets {
            for object in changeset.operations.lazy.map(\.object) {
                let isPending = try storage.hasPending(object)
                guard hasImages || isPending, seen.insert(object).inserted else { continue }
                var base: BaseImage?
                if isPending {
                    // The image to show if the server rejects the pending rest.
                    let image = self.image(try storage.baseImage(of: object), after: accepted[object])
                    base = image.map(BaseImage.row) ?? BaseImage.none
                }
                try storage.setBaseImage(base, of: object)
            }
        }
    }

    /// The server's image of an object after it has accepted operations; nil if the object then does not exist.
    private func image(_ base: BaseImage?, after operations: [ObjectOperation]) -> Row? {
        var image: Row? = if case .row(let row)? = base { row } else { nil }
        for operation in operations {
            let effect = OperationEffect(operation, of: schema[operation.object.classIndex])
            image = effect.applied(to: image, of: operation.object, schema: schema)
        }
        // Below the version of any image from the server.
        if image?.version == 0 { image?.version = 1 }
        return image
    }

    /// Shows the state of an object after the server has accepted operations on it.
    ///
    /// If the server's image arrived just now, or if a complete subscription has the object, the last image already
    /// includes the result of the operations and is shown. Otherwise what was written stays. The last image is then
    /// kept, if a subscription that resumes may turn out to have the object unchanged.
    private func reconcile(
        _ object: ObjectRef, accepted: OperationsByObject, isRejected: Bool, _ transaction: StoreTransaction
    ) throws {
        transaction.touch(object)
        if try transaction.serverImages.contains(object) || isCompletelySynced(object) {
            return try showServerImage(of: object, transaction)
        }
        var image: Row? = if case .row(let row)? = try storage.baseImage(of: object) { row } else { nil }
        let isPending = try storage.hasPending(object)
        if try !isPending && isMissedByMembers(object) {
            unconfirmed.insert(object)
            return try evict(object, reason: .deleted, transaction)
        }
        let isMember = try isMemberOfAny(object)
        if !isMember || isRejected {
            image = self.image(image.map(BaseImage.row), after: accepted[object])
            try transaction.show(replayed(image, of: object), of: object)
        }
        if !isMember {
            try storage.setBaseImage(isPending ? image.map(BaseImage.row) ?? BaseImage.none : nil, of: object)
        } else if !isPending {
            unconfirmed.insert(object)
        }
    }

    /// Whether a complete subscription follows a link to the object without having it, which means that the server does
    /// not have it.
    private func isMissedByMembers(_ object: ObjectRef) throws -> Bool {
        guard subscriptions.completeCount > 0, try !storage.isHeld(object, excluding: nil) else { return false }
        for (classIndex, property) in schema.backlinks(to: object.classIndex) {
            var isMissed = false
            try storage.backlinks(to: object, fromClass: classIndex, property: property) { key in
                let owner = ObjectRef(classIndex, key)
                // A link that was written here and is not acknowledged does not count.
                guard try !storage.hasPending(owner) else { return true }
                for id in try storage.subscriptions(having: owner, role: nil) {
                    guard let subscription = subscriptions[id: id], subscription.isComplete else { continue }
                    for role in MemberRole.allCases
                    where subscription.plan.alwaysFollows(property, ofClass: classIndex, isRoot: role == .root) {
                        isMissed = try isMissed || storage.isMember(owner, of: subscription.record.id, role: role)
                    }
                }
                return !isMissed
            }
            if isMissed { return true }
        }
        return false
    }

    /// Shows the server's last image with the pending operations applied, and keeps the image only if there are any.
    func showServerImage(of object: ObjectRef, _ transaction: StoreTransaction) throws {
        let image: Row? = if case .row(let row)? = try storage.baseImage(of: object) { row } else { nil }
        try transaction.show(replayed(image, of: object), of: object)
        unconfirmed.remove(object)
        if try !storage.hasPending(object) { try storage.setBaseImage(nil, of: object) }
    }

    /// Removes an object and its server image from this store.
    func evict(_ object: ObjectRef, reason: RemovalReason, _ transaction: StoreTransaction) throws {
        if try storage.isPresent(object) { try transaction.evict(object, reason: reason) }
        if unconfirmed.remove(object) != nil { try storage.setBaseImage(nil, of: object) }
    }

    /// Whether any subscription, complete or not, observed or dormant, has the object or is receiving it.
    private func isMemberOfAny(_ object: ObjectRef) throws -> Bool {
        try storage.isHeld(object, excluding: nil) || !storage.subscriptions(having: object, role: nil).isEmpty
    }

    /// Whether a complete subscription has the object, so that its image here is the server's image at the store's
    /// version.
    func isCompletelySynced(_ object: ObjectRef) throws -> Bool {
        guard subscriptions.completeCount > 0 else { return false }
        return try storage.subscriptions(having: object, role: nil).contains { id in
            subscriptions[id: id]?.isComplete ?? false
        }
    }

    /// Applies the unacknowledged operations on an object to its server image again; nil if they delete the object.
    ///
    /// The image already includes the acknowledged operations.
    func replayed(_ image: Row?, of object: ObjectRef) throws -> Row? {
        try pendingEffects.applied(to: image, of: object, after: session.acknowledged)
    }

    /// Reports the rejected writes that a transaction has reverted, after the transaction is stored.
    func reportRejections() {
        if !session.awaitsCatchUp {
            session.forgetRejections(through: session.acknowledged)
            quarantine.forget(through: session.acknowledged)
        }
        let reports = unreportedRejections
        unreportedRejections = []
        for report in reports { onRejection?(report) }
    }

    /// The reports of a transaction that the server rejected.
    private func reports(of rejection: ServerMessage.Rejection, _ changeset: Changeset) -> [WriteRejection] {
        rejection.reasons.map { reason in
            let object = reason.object.flatMap { session.map?.fromServer($0) }
            var values: [String: Value] = [:]
            for operation in changeset.operations where operation.object == object {
                for field in operation.fields {
                    guard case .set(let value) = field.change else { continue }
                    values[schema[operation.object.classIndex].properties[field.property].name] = value
                }
            }
            return WriteRejection(
                object: object.map { Identity(className: schema[$0.classIndex].name, key: $0.key) },
                reason: SyncError(SyncError.Code(reason.code), reason.message), rejectedValues: values)
        }
    }

    // MARK: Waiting

    /// Calls `waiter` with whether everything written here is acknowledged, now and after each acknowledgement, or with
    /// the error that ended syncing, until it returns true.
    ///
    /// - Returns: the number for ``cancelWaiter(_:)``; nil if `waiter` returned true at once.
    package func whenUploaded(_ waiter: @escaping (Result<Bool, SyncError>) -> Bool) -> UInt64? {
        if case .failed(let error) = session.phase, waiter(.failure(error)) { return nil }
        settle()
        if waiter(.success(storage.outboxCount == 0)) { return nil }
        if let problem = session.uploadProblem, waiter(.failure(problem)) { return nil }
        let number = nextNumber()
        uploadWaiters[number] = waiter
        return number
    }

    /// Calls `waiter` with whether the session is open, now and when it opens, or with the error that ended syncing,
    /// until it returns true.
    ///
    /// - Returns: the number for ``cancelWaiter(_:)``; nil if `waiter` returned true at once.
    package func whenConnected(_ waiter: @escaping (Result<Bool, SyncError>) -> Bool) -> UInt64? {
        if case .failed(let error) = session.phase, waiter(.failure(error)) { return nil }
        if waiter(.success(session.isActive)) { return nil }
        let number = nextNumber()
        connectionWaiters[number] = waiter
        return number
    }

    package func cancelWaiter(_ number: UInt64) {
        uploadWaiters[number] = nil
        connectionWaiters[number] = nil
    }

    func notifyUploaded() {
        guard !uploadWaiters.isEmpty else { return }
        let isDone = storage.outboxCount == 0
        for (id, waiter) in uploadWaiters where waiter(.success(isDone)) { uploadWaiters[id] = nil }
    }

    /// Asks the server to remove a class, or a property, from its schema.
    package func requestRemoval(
        ofClass className: String, property: String?, reply: @escaping (Result<[UInt8], SyncError>) -> Void
    ) {
        guard session.isActive else { return reply(.failure(SyncError(.unreachable, "there is no open session"))) }
        guard session.features.contains(.removal) else {
            return reply(.failure(SyncError(.server, "the server removes nothing from its schema")))
        }
        let request = nextNumber()
        reportWaiters[request] = reply
        send([
            .remove(
                .init(session: SyncSession.number, request: request, className: className, property: property))
        ])
    }

    /// Asks the server for a report.
    package func requestReport(
        _ topic: ClientMessage.ReportTopic, argument: String = "", reply: @escaping (Result<[UInt8], SyncError>) -> Void
    ) {
        guard session.isActive else { return reply(.failure(SyncError(.unreachable, "there is no open session"))) }
        guard session.features.contains(.reports) else {
            return reply(.failure(SyncError(.server, "the server gives no reports")))
        }
        let request = nextNumber()
        reportWaiters[request] = reply
        send([.reportRequest(.init(session: SyncSession.number, request: request, topic: topic, argument: argument))])
    }
}

extension [Changeset] {
    /// The objects that the changesets change, each once, in the order of their first change.
    fileprivate var objects: [ObjectRef] {
        var seen: Set<ObjectRef> = []
        return flatMap { $0.operations.map(\.object).filter { seen.insert($0).inserted } }
    }
}

/// The operations of changesets by their objects. They are sorted when the first object is asked for, since most
/// acknowledgements need none.
private final class OperationsByObject {
    private let changesets: [Changeset]
    private lazy var operations = Dictionary(grouping: changesets.lazy.flatMap(\.operations), by: \.object)

    init(_ changesets: some Sequence<Changeset>) { self.changesets = Array(changesets) }

    subscript(object: ObjectRef) -> [ObjectOperation] { operations[object] ?? [] }
}

/// Transactions on their way into one frame.
private struct UploadBatch {
    var changesets: [Changeset] = []
    var size = UploadSize()
}
