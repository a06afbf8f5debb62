internal import SluiceExchange
internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Transactions that come as lines of JSON, of sessions that keep no store.
extension DatabaseEngine {
    /// Gathers a transaction. One that cannot be made, such as an insert of what is there, is rejected like any other.
    ///
    /// - Throws: ``SessionEnd`` when the client has broken the protocol.
    func write(
        _ write: ClientMessage.Write, from session: ServerSession, _ subscriber: Subscriber, now: Timestamp
    ) throws {
        let (isTaken, notice) = sessions.takesUploads(of: session)
        output.send(notice, to: session.id)
        guard isTaken else { return }
        var operations: [ObjectOperation] = []
        var problem: String?
        // What was decided before is acknowledged again, whatever it is.
        if !session.hasReceived(write.sequence) {
            do { operations = try self.operations(of: write, subscriber, now: now) } catch let error
                as WriteRequestError
            {
                problem = error.message
            }
        }
        guard sessions[session.id] === session else { return }
        let changeset = Changeset(
            sequence: write.sequence, baseVersion: database.storage.version,
            timestamp: HybridTimestamp(microseconds: now.microseconds), operations: operations)
        var upload = try session.receive(changeset, now: now)
        if let problem { upload.problem = .init(code: .invalidOperation, message: problem) }
        committer.add(upload)
        uncommittedWrites.note(operations)
        if committer.isFull || permissions.concerns(changeset) { commit(now: now) }
    }

    private func operations(
        of write: ClientMessage.Write, _ subscriber: Subscriber, now: Timestamp
    ) throws -> [ObjectOperation] {
        if let fault = write.fault { throw WriteRequestError(message: fault) }
        let countMax = Int(database.limits.server.operationCountMax)
        guard write.operationCount <= countMax else {
            throw WriteRequestError(
                message: "the transaction has \(write.operationCount) operations; at most \(countMax) are taken")
        }
        let requests = try WriteConversion.requests(write.operations, database.storage.schema)
        // What was gathered and not committed is not in the objects yet.
        if committer.hasUploads {
            let conversion = conversion(subscriber, now: now)
            let objects = requests.compactMap { try? conversion.object(of: $0) }
            if committer.uploadCount != uncommittedWrites.count || uncommittedWrites.meet(objects) { commit(now: now) }
        } else {
            uncommittedWrites = UncommittedWrites()
        }
        var conversion = conversion(subscriber, now: now)
        for (position, request) in requests.enumerated() {
            do { try conversion.add(request) } catch let error as WriteRequestError {
                throw WriteRequestError(message: "operation \(position + 1): \(error.message)")
            }
        }
        return conversion.operations
    }

    private func conversion(_ subscriber: Subscriber, now: Timestamp) -> WriteConversion {
        WriteConversion(
            database.storage, as: subscriber.access,
            by: ListEdits.Author(origin: drawRandom(), time: max(1, now.microseconds), ids: .process))
    }
}

/// The objects of the transactions in JSON that were gathered and not committed.
struct UncommittedWrites {
    private(set) var count = 0
    private var objects: Set<ObjectRef> = []

    mutating func note(_ operations: [ObjectOperation]) {
        count += 1
        for operation in operations { objects.insert(operation.object) }
    }

    func meet(_ others: [ObjectRef]) -> Bool { others.contains(where: objects.contains) }
}
