internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Consumers and queues of clients.
///
/// What they read, they read as their user may. The right `jobs` says who may keep records of jobs.
extension DatabaseEngine {
    /// Answers a question of a client's job, at once or once its answer was read.
    func answer(
        _ call: ClientMessage.JobCall, _ session: ServerSession, _ subscriber: Subscriber, now: Timestamp
    ) throws {
        try refusing(call, in: session.id) {
            if call.question.needsRight {
                guard subscriber.access.has(.jobs) else { throw JobConflict.withoutRight }
            }
            switch call.question {
            case .chunk(let text, _, _), .count(let text), .queue(_, let text, _, _, _), .list(let text),
                .rows(let text, _):
                bringTime(to: now, for: try query(text, of: subscriber), isAwaited: true)
                try read(for: call, subscriber, now: now)
            case .record(let key):
                let record = try database.storage.job(key)
                send(to: call, session.id) { writer in writer.optional(record) { $1.encode(into: &$0) } }
            case .records(let space, let name):
                let records = try database.storage.jobs(ofSpace: space, after: name, countMax: JobWrite.countMax)
                    .prefix(whileTogetherAtMost: JobRecord.byteCountMax)
                send(to: call, session.id) { writer in writer.array(records) { $1.encode(into: &$0) } }
            case .spaces(let prefix):
                let spaces = try database.storage.jobSpaces(withPrefix: prefix).prefix(JobWrite.countMax)
                let counts = try spaces.map { ($0, UInt64(try database.storage.jobCount(ofSpace: $0))) }
                send(to: call, session.id) { writer in
                    writer.array(counts) { writer, entry in
                        writer.string(entry.0)
                        writer.varint(entry.1)
                    }
                }
            case .apply(let writes):
                try checkWrites(session)
                try apply(writes, for: call, subscriber, now: now)
            case .settle(let space, let object, let isRetried):
                try checkWrites(session)
                let letters = try DeadLetterRecord.keys(object, inSpace: space).compactMap {
                    try database.storage.job($0)
                }
                guard let letter = letters.first else {
                    return send(to: call, session.id) { $0.array([false]) { $0.bool($1) } }
                }
                let writes = isRetried ? JobWrite.retrying(letter) : JobWrite.discarding(letter)
                try apply(writes, for: call, subscriber, now: now)
            case .wait(let moment):
                guard jobs.wait(session.id, request: call.request, after: moment) else {
                    throw RequestRejection.tooMany
                }
            }
        }
    }

    private func checkWrites(_ session: ServerSession) throws {
        guard session.isReadOnly else { return }
        throw RequestRejection(code: .permissionDenied, message: "a read-only session cannot run jobs")
    }

    /// Tells a job why its question has no answer, where that is no fault of the session.
    private func refusing(_ call: ClientMessage.JobCall, in session: SessionID, _ body: () throws -> Void) throws {
        let refusal: RequestRejection
        do { return try body() } catch let thrown as RequestRejection {
            refusal = thrown
        } catch let conflict as JobConflict {
            refusal = RequestRejection(code: conflict.code, message: conflict.message)
        } catch let error as StorageError where error.endsQueryAlone {
            let (code, message) = database.subscriberError(of: error)
            refusal = RequestRejection(code: code, message: message)
        }
        output.send([refusal.answer(to: call)], to: session)
    }

    private func query(_ text: String, of subscriber: Subscriber) throws -> Query {
        do { return try subscriber.access.query(Query.parse(text, schema: database.storage.schema)) } catch let error
            as QueryError
        {
            throw RequestRejection(error)
        } catch let error as HiddenPropertyError {
            throw RequestRejection(error)
        }
    }

    private func send(
        to call: ClientMessage.JobCall, _ id: SessionID, _ encode: (inout ByteWriter) -> Void
    ) {
        var writer = ByteWriter()
        encode(&writer)
        output.send([.report(session: call.session, request: call.request, json: writer.bytes)], to: id)
    }

    /// How many consumers there are, and how many versions the one that is farthest behind has not looked at.
    var consumerLag: (count: Int, lag: UInt64) {
        let version = database.storage.version
        let states = (try? ConsumerState.all(in: database.storage)) ?? []
        let lags = states.map { version - min($0.state.checkpoint?.version ?? version, version) }
        return (states.count, lags.max() ?? 0)
    }

    // MARK: Reading

    /// What a question is answered with at the present state.
    private enum Found {
        case chunk(ConsumerChunk)
        /// It is to be read.
        case task(JobReading.Task)
    }

    private func find(_ call: ClientMessage.JobCall, _ subscriber: Subscriber) throws -> Found {
        switch call.question {
        case .chunk(let text, let checkpoint, let countMax):
            let query = try query(text, of: subscriber)
            var sizes = ChunkSizes()
            sizes.rowCountMax = Int(clamping: max(1, min(countMax, UInt64(sizes.rowCountMax))))
            sizes.byteCountMax = database.limits.pageByteCount
            let storage = database.storage
            let reading = try budget.charging(subscriber) { _ in
                try ConsumerReading(query, after: checkpoint, in: storage, sizes)
            }
            return switch reading {
            case .chunk(let chunk): .chunk(try chunk.shown(to: query.context, in: storage))
            case .reading(let page): .task(.page(page))
            }
        case .count(let text): return .task(.count(try query(text, of: subscriber)))
        case .queue(let name, let text, let key, let countMax, let withPartitions):
            return .task(
                .queue(
                    name: name, try query(text, of: subscriber), after: key,
                    countMax: Int(clamping: min(countMax, UInt64(database.limits.pageRowCount))),
                    withPartitions: withPartitions))
        case .list(let text): return .task(.list(try query(text, of: subscriber)))
        case .rows(let text, let keys): return .task(.rows(try query(text, of: subscriber), keys))
        case .record, .records, .spaces, .apply, .settle, .wait:
            preconditionFailure("nothing is read for this question")
        }
    }

    /// Answers a question with what its user may read now, or has the answer read beside the writer.
    private func read(for call: ClientMessage.JobCall, _ subscriber: Subscriber, now: Timestamp) throws {
        switch try find(call, subscriber) {
        case .chunk(let chunk): send(to: call, subscriber.session) { chunk.encode(into: &$0) }
        case .task(let task):
            let reading = JobCalls.Reading(
                call: call, session: subscriber.session, making: JobReading(task), basis: basis(of: subscriber))
            guard database.storage.canBeReadAside else {
                try budget.charging(subscriber) { _ in try reading.making.read(in: database.storage) }
                return try answer(reading, now: now)
            }
            guard jobs.read(reading) else { throw RequestRejection.tooMany }
        }
    }

    /// What readings for a user's jobs depend on now.
    private func basis(of subscriber: Subscriber) -> JobCalls.Basis {
        let storage = database.storage
        return .init(
            version: storage.version, epoch: storage.epoch, access: subscriber.access, schema: storage.schema)
    }

    private func basis(of session: SessionID) -> JobCalls.Basis? { subscriptions[session].map { basis(of: $0) } }

    /// Makes those readings for jobs anew that are next and were made before the last commit, or for other rights. Call it
    /// after whatever may have committed.
    func renewJobReadings() {
        jobs.renew(basis) { former in
            var renewed: JobCalls.Reading?
            guard let subscriber = subscriptions[former.session] else { return nil }
            guarding(former.session) {
                try refusing(former.call, in: former.session) {
                    switch try find(former.call, subscriber) {
                    case .chunk(let chunk): send(to: former.call, former.session) { chunk.encode(into: &$0) }
                    case .task(let task):
                        renewed = .init(
                            call: former.call, session: former.session, making: JobReading(task),
                            basis: basis(of: subscriber))
                    }
                }
            }
            return renewed
        }
    }

    /// Returns an answer to a job that is to be read beside the writer; nil if there is none.
    func takeJobReading() -> QueryPreparation? { jobs.takeReading(basis) }

    /// Continues with an answer that was read beside the writer. Where its user may read something else by now, it is
    /// read once more.
    ///
    /// - Returns: false if the preparation is of another kind.
    func finishJob(_ preparation: QueryPreparation, now: Timestamp) -> Bool {
        guard let reading = jobs.finish(preparation) else { return false }
        guard sessions[reading.session] != nil, let subscriber = subscriptions[reading.session] else { return true }
        budget.noteReading(preparation.stepCount, for: subscriber.holder)
        guarding(reading.session) {
            try refusing(reading.call, in: reading.session) {
                if case .failed(let error) = preparation.outcome { throw error }
                guard basis(of: subscriber).isReadAlike(as: reading.basis) else {
                    return try read(for: reading.call, subscriber, now: now)
                }
                try answer(reading, now: now)
            }
        }
        return true
    }

    /// What tells the present state from others for a job that waits: the position of the journal, since records of jobs
    /// change without a version, and what its user may read.
    func jobMoment(of session: SessionID) -> UInt64 {
        let position = database.storage.head.position
        guard let access = subscriptions[session]?.access, access.rules != nil || !access.reads.isEverything else {
            return min(position &+ 1, .max - 1)
        }
        let id = access.id
        let rights = (id.high ^ id.low) &+ rightsNumber
        // One number for each position, where the rights are the same. None is that which asks for the version itself.
        return min((rights | 1) &* (position &+ 1) &+ rights, .max - 1)
    }

    /// Sends an answer that was read.
    private func answer(_ reading: JobCalls.Reading, now: Timestamp) throws {
        switch (reading.making.task, reading.making.outcome) {
        case (_, .chunk(let chunk)): send(to: reading.call, reading.session) { chunk.encode(into: &$0) }
        case (_, .count(let count)): send(to: reading.call, reading.session) { $0.varint(UInt64(count)) }
        case (_, .keys(let keys)):
            send(to: reading.call, reading.session) { writer in
                writer.optional(keys) { writer, keys in writer.array(keys) { $1.encode(into: &$0) } }
            }
        case (.rows, .rows(let found)):
            let epochs = database.storage.epochs.covering(found.rows.lazy.map(\.version))
            send(to: reading.call, reading.session) { writer in
                writer.varint(UInt64(found.classIndex))
                writer.array(found.rows) { $0.data($1.wireBytes()) }
                writer.epochs(epochs)
            }
        case (.queue(let name, _, _, _, let withPartitions), .rows(let found)):
            let rows = try database.storage.queueRows(
                found, database.storage.schema, name, at: now, database.storage.epochs, withPartitions: withPartitions)
            send(to: reading.call, reading.session) { rows.encode(into: &$0) }
        default: preconditionFailure("an answer was not read")
        }
    }

    // MARK: Writing

    /// Changes records as far as the changes count, in one transaction, and answers which were made.
    private func apply(
        _ writes: [JobWrite], for call: ClientMessage.JobCall, _ subscriber: Subscriber, now: Timestamp
    ) throws {
        let (made, outcome) = try commitJobs(writes, .client, as: subscriber.access, now: now)
        switch outcome {
        case nil, .committed?: break
        case .obstructed(let error, _)?:
            throw RequestRejection(code: .internalError, message: "\(error.message); try again later")
        case .failed(let error, _)?:
            throw RequestRejection(
                code: .internalError,
                message: Consequence.sentence("the server could not store it", of: database.name, because: error))
        }
        send(to: call, subscriber.session) { writer in writer.array(made) { $0.bool($1) } }
    }

    /// Changes records as far as the changes count, in one transaction.
    ///
    /// - Parameters:
    ///   - author: who wants them.
    ///   - access: what the author may read.
    ///   - duty: what the server must have when the journal takes them; nil for nothing.
    /// - Returns: for each change whether it counts, and what became of the transaction.
    /// - Throws: ``JobConflict`` for a change that is malformed.
    func commitJobs(
        _ writes: [JobWrite], _ author: JobJudge.Author, as access: AccessBinding, holding duty: HeldDuty? = nil,
        now: Timestamp
    ) throws -> (made: [Bool], Committer.Outcome?) {
        var made: [Bool] = []
        let outcome = try committer.commit(now: now, holding: duty, following: publishFollowed) {
            let storage = database.storage
            var known: [JobRecord.Key: JobRecord?] = [:]
            var changes: [JobChange] = []
            made = []
            for write in writes {
                let judge = JobJudge(storage.schema, in: storage, of: author, as: access, now: now) { key in
                    if let known = known[key] { return known }
                    return try storage.job(key)
                }
                let change = try judge.changeIfCounting(write)
                made.append(change != nil)
                guard let change else { continue }
                known[write.key] = .some(write.record(at: now))
                changes.append(change)
            }
            return (nil, changes)
        }
        settle(outcome)
        return (made, outcome)
    }
}

extension ClientMessage.JobCall.Question {
    /// Whether it takes the right to run jobs. Whoever may read results may also read them in parts.
    fileprivate var needsRight: Bool {
        switch self {
        case .chunk, .count, .list, .rows, .wait: false
        case .queue, .record, .records, .spaces, .apply, .settle: true
        }
    }
}

extension RequestRejection {
    fileprivate static let tooMany = RequestRejection(
        code: .limitExceeded,
        message: "a session has at most \(JobCalls.countMax) questions of jobs that are not answered")
}

extension [JobRecord] {
    /// The first records, at least one, that take so many bytes together.
    fileprivate func prefix(whileTogetherAtMost byteCountMax: Int) -> [JobRecord] {
        var byteCount = 0
        let end = firstIndex { record in
            defer { byteCount += record.byteCount }
            return byteCount > 0 && byteCount + record.byteCount > byteCountMax
        }
        return Array(self[..<(end ?? endIndex)])
    }
}
