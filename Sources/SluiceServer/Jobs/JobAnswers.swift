internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Answers what jobs of clients ask: at once, once the answer was read beside the writer, or when something has been
/// committed. What they read, they read as their user may.
///
/// It belongs to the thread of its engine.
final class JobAnswers {
    private let database: Database
    private let budget: WorkBudget
    private let subscriptions: Subscriptions
    private let calls: JobCalls

    init(_ database: Database, _ budget: WorkBudget, _ subscriptions: Subscriptions) {
        self.database = database
        self.budget = budget
        self.subscriptions = subscriptions
        calls = JobCalls(database)
    }

    /// Forgets a session that has ended.
    func close(_ session: SessionID) { calls.close(session) }

    // MARK: Answering

    /// Answers a question at the present state, or has the answer read.
    ///
    /// - Throws: a ``RequestRejection``, as ``rejecting(_:in:_:_:)`` takes it.
    func answer(
        _ call: ClientMessage.JobCall, _ subscriber: Subscriber, _ output: inout TurnOutput, now: Timestamp
    ) throws {
        let id = subscriber.session
        switch call.question {
        case .chunk, .count, .queue, .list, .rows: try read(for: call, subscriber, &output, now: now)
        case .record(let key):
            let record = try database.storage.job(key)
            send(to: call, id, &output) { writer in writer.optional(record) { $1.encode(into: &$0) } }
        case .records(let space, let name):
            let records = try database.storage.jobs(ofSpace: space, after: name, countMax: JobWrite.countMax)
                .prefix(whileTogetherAtMost: JobRecord.byteCountMax)
            send(to: call, id, &output) { writer in writer.array(records) { $1.encode(into: &$0) } }
        case .spaces(let prefix):
            let spaces = try database.storage.jobSpaces(withPrefix: prefix).prefix(JobWrite.countMax)
            let counts = try spaces.map { ($0, UInt64(try database.storage.jobCount(ofSpace: $0))) }
            send(to: call, id, &output) { writer in
                writer.array(counts) { writer, entry in
                    writer.string(entry.0)
                    writer.varint(entry.1)
                }
            }
        case .wait(let moment):
            guard calls.wait(id, request: call.request, after: moment) else { throw RequestRejection.tooMany }
        case .apply, .settle: preconditionFailure("records are changed by a commit")
        }
    }

    /// The changes of records that a question asks for at the present state; empty if there is nothing to change.
    func writes(of call: ClientMessage.JobCall) throws -> [JobWrite] {
        switch call.question {
        case .apply(let asked): return asked
        case .settle(let space, let object, let isRetried):
            let letter = try DeadLetterRecord.keys(object, inSpace: space, isRetried: isRetried)
                .compactMap { try database.storage.job($0) }.first
            return letter.map { JobWrite.settling($0, isRetried: isRetried) } ?? []
        case .chunk, .count, .queue, .list, .rows, .record, .records, .spaces, .wait:
            preconditionFailure("nothing is changed for this question")
        }
    }

    /// Tells a job why its question has no answer, where that is no fault of the session.
    func rejecting(
        _ call: ClientMessage.JobCall, in session: SessionID, _ output: inout TurnOutput,
        _ body: (inout TurnOutput) throws -> Void
    ) throws {
        let rejection: RequestRejection
        do { return try body(&output) } catch let thrown as RequestRejection {
            rejection = thrown
        } catch let conflict as JobConflict {
            rejection = RequestRejection(code: conflict.code, message: conflict.message)
        } catch let error as StorageError where error.endsQueryAlone {
            let (code, message) = database.subscriberError(of: error)
            rejection = RequestRejection(code: code, message: message)
        }
        output.send([rejection.answer(to: call)], to: session)
    }

    func send(
        to call: ClientMessage.JobCall, _ id: SessionID, _ output: inout TurnOutput,
        _ encode: (inout ByteWriter) -> Void
    ) {
        var writer = ByteWriter()
        encode(&writer)
        output.send([.report(session: call.session, request: call.request, json: writer.bytes)], to: id)
    }

    // MARK: Reading

    /// The query of a question, as its user reads it; nil if it has none.
    ///
    /// - Throws: a ``RequestRejection``.
    func query(of call: ClientMessage.JobCall, by subscriber: Subscriber) throws -> Query? {
        switch call.question {
        case .chunk(let text, _, _), .count(let text), .queue(_, let text, _, _, _), .list(let text),
            .rows(let text, _):
            try query(text, of: subscriber)
        case .record, .records, .spaces, .apply, .settle, .wait: nil
        }
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
    private func read(
        for call: ClientMessage.JobCall, _ subscriber: Subscriber, _ output: inout TurnOutput, now: Timestamp
    ) throws {
        switch try find(call, subscriber) {
        case .chunk(let chunk): send(to: call, subscriber.session, &output) { chunk.encode(into: &$0) }
        case .task(let task):
            let reading = JobCalls.Reading(
                call: call, session: subscriber.session, making: JobReading(task), basis: basis(of: subscriber))
            guard database.storage.canBeReadAside else {
                try budget.charging(subscriber) { _ in try reading.making.read(in: database.storage) }
                return try answer(reading, &output, now: now)
            }
            guard calls.read(reading) else { throw RequestRejection.tooMany }
        }
    }

    /// What readings for a user's jobs depend on now.
    private func basis(of subscriber: Subscriber) -> JobCalls.Basis {
        let storage = database.storage
        return .init(
            version: storage.version, epoch: storage.epoch, access: subscriber.access, schema: storage.schema)
    }

    private func basis(of session: SessionID) -> JobCalls.Basis? { subscriptions[session].map { basis(of: $0) } }

    /// Makes those readings anew that are next and were made before the last commit, or for other rights. Call it after
    /// whatever may have committed.
    func renewReadings(_ output: inout TurnOutput) {
        calls.renew(basis) { former in
            var renewed: JobCalls.Reading?
            guard let subscriber = subscriptions[former.session] else { return nil }
            do {
                try rejecting(former.call, in: former.session, &output) { output in
                    switch try find(former.call, subscriber) {
                    case .chunk(let chunk):
                        send(to: former.call, former.session, &output) { chunk.encode(into: &$0) }
                    case .task(let task):
                        renewed = .init(
                            call: former.call, session: former.session, making: JobReading(task),
                            basis: basis(of: subscriber))
                    }
                }
            } catch { output.fail(former.session, error) }
            return renewed
        }
    }

    /// Returns an answer that is to be read beside the writer; nil if there is none.
    func takeReading() -> QueryPreparation? { calls.takeReading(basis) }

    /// Continues with an answer that was read beside the writer. Where its user may read something else by now, it is
    /// read once more.
    ///
    /// - Returns: false if the preparation is of another kind.
    func finish(_ preparation: QueryPreparation, _ output: inout TurnOutput, now: Timestamp) -> Bool {
        guard let reading = calls.finish(preparation) else { return false }
        guard let subscriber = subscriptions[reading.session] else { return true }
        budget.noteReading(preparation.stepCount, for: subscriber.holder)
        do {
            try rejecting(reading.call, in: reading.session, &output) { output in
                if case .failed(let error) = preparation.outcome { throw error }
                guard basis(of: subscriber).isReadAlike(as: reading.basis) else {
                    return try read(for: reading.call, subscriber, &output, now: now)
                }
                try answer(reading, &output, now: now)
            }
        } catch { output.fail(reading.session, error) }
        return true
    }

    /// Sends an answer that was read.
    private func answer(_ reading: JobCalls.Reading, _ output: inout TurnOutput, now: Timestamp) throws {
        let (call, id) = (reading.call, reading.session)
        switch (reading.making.task, reading.making.outcome) {
        case (_, .chunk(let chunk)): send(to: call, id, &output) { chunk.encode(into: &$0) }
        case (_, .count(let count)): send(to: call, id, &output) { $0.varint(UInt64(count)) }
        case (_, .keys(let keys)):
            send(to: call, id, &output) { writer in
                writer.optional(keys) { writer, keys in writer.array(keys) { $1.encode(into: &$0) } }
            }
        case (.rows, .rows(let found)):
            let epochs = database.storage.epochs.covering(found.rows.lazy.map(\.version))
            send(to: call, id, &output) { writer in
                writer.varint(UInt64(found.classIndex))
                writer.array(found.rows) { $0.data($1.wireBytes()) }
                writer.epochs(epochs)
            }
        case (.queue(let name, _, _, _, let withPartitions), .rows(let found)):
            let rows = try database.storage.queueRows(
                found, database.storage.schema, name, at: now, database.storage.epochs, withPartitions: withPartitions)
            send(to: call, id, &output) { rows.encode(into: &$0) }
        default: preconditionFailure("an answer was not read")
        }
    }

    // MARK: Waiting

    /// Answers those who wait for a commit or for other rights.
    ///
    /// - Parameter rightsNumber: counts what has changed rights other than by a commit.
    func answerWaits(rightsNumber: UInt64, _ output: inout TurnOutput) {
        calls.answerWaits(
            at: database.storage.version, moment: { moment(of: $0, rightsNumber: rightsNumber) }, &output)
    }

    /// What tells the present state from others for a job that waits: the position of the journal, since records of jobs
    /// change without a version; the epoch, since a backup that was put back gives a position once more; and what its user
    /// may read.
    private func moment(of session: SessionID, rightsNumber: UInt64) -> UInt64 {
        let position = database.storage.head.position
        var state = database.storage.epoch
        if let access = subscriptions[session]?.access, access.rules != nil || !access.reads.isEverything {
            state ^= (access.id.high ^ access.id.low) &+ rightsNumber
        }
        // One number for each position of a state. 0 stands for no moment yet, and the highest asks for the version itself.
        return max(1, min((state | 1) &* (position &+ 1) &+ state, .max - 1))
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
