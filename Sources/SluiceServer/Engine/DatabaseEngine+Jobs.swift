internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Consumers and queues of clients: what they ask is answered by ``JobAnswers``, what they change is committed here. The
/// right `jobs` says who may keep records of jobs.
extension DatabaseEngine {
    /// Answers a question of a client's job, at once or once its answer was read.
    func answer(
        _ call: ClientMessage.JobCall, _ session: ServerSession, _ subscriber: Subscriber, now: Timestamp
    ) throws {
        try working { output in
            try jobs.rejecting(call, in: session.id, &output) { output in
                if call.question.needsRight, !subscriber.access.has(.jobs) {
                    try checkJobs(session, subscriber)
                }
                if call.question.changesRecords {
                    guard !session.isReadOnly else {
                        throw RequestRejection(
                            code: .permissionDenied, message: "a read-only session cannot run jobs")
                    }
                    let made = try apply(call, session, now: now)
                    return jobs.send(to: call, session.id, &output) { writer in writer.array(made) { $0.bool($1) } }
                }
                if let query = try jobs.query(of: call, by: subscriber) {
                    bringTime(to: now, for: query, isAwaited: true)
                }
                try jobs.answer(call, subscriber, &output, now: now)
            }
        }
    }

    /// Checks that a user has the right `jobs` at the end of the journal, since others may have given it.
    ///
    /// - Throws: a ``RequestRejection`` or a ``JobConflict`` if not; ``SessionEnd`` if the session has ended.
    private func checkJobs(_ session: ServerSession, _ subscriber: Subscriber) throws {
        do { try database.catchUpToRefuse() } catch let error as StorageError {
            throw RequestRejection(code: .internalError, message: "\(error.message); try again later")
        }
        try checkGoesOn(session)
        guard subscriber.access.has(.jobs) else { throw JobConflict.withoutRight }
    }

    /// How many consumers there are, and how many versions the one that is farthest behind has not looked at.
    var consumerLag: (count: Int, lag: UInt64) {
        let version = database.storage.version
        let states = (try? ConsumerState.all(in: database.storage)) ?? []
        let lags = states.map { version - min($0.state.checkpoint?.version ?? version, version) }
        return (states.count, lags.max() ?? 0)
    }

    /// How many objects consumers have given up, and rows queues; of either no more than 10,000 are counted.
    var deadLetterCount: Int {
        [JobSpace.consumerDeadLetters, .queueDeadLetters].reduce(0) { count, space in
            count + ((try? database.storage.jobCount(ofSpacesWithPrefix: space.prefix, countMax: 10_000)) ?? 0)
        }
    }

    /// Changes records as far as the changes count, in one transaction, and as far as the user of a session may in the
    /// state after which they are changed.
    ///
    /// - Returns: for each change whether it was made.
    private func apply(
        _ call: ClientMessage.JobCall, _ session: ServerSession, now: Timestamp
    ) throws -> [Bool] {
        let (made, outcome) = try commitJobs(.client, now: now) {
            try checkGoesOn(session)
            let access = permissions.binding(of: session.id)
            guard access.has(.jobs) else { throw JobConflict.withoutRight }
            return (try jobs.writes(of: call), access)
        }
        switch outcome {
        case nil, .committed?: return made.isEmpty ? [false] : made
        case .obstructed(let error, _)?:
            throw RequestRejection(code: .internalError, message: "\(error.message); try again later")
        case .failed(let error, _)?:
            throw RequestRejection(
                code: .internalError,
                message: Consequence.sentence("the server could not store it", of: database.name, because: error))
        }
    }

    /// Changes records as far as the changes count, in one transaction.
    ///
    /// - Parameters:
    ///   - author: who wants them.
    ///   - duty: what the server must have when the journal takes them; nil for nothing.
    ///   - find: finds the changes, and what the author may read, at the present state. It is called again where another
    ///     engine has appended to the journal meanwhile.
    /// - Returns: for each change whether it counts, and what became of the transaction.
    /// - Throws: ``JobConflict`` for a change that is malformed; what `find` throws.
    func commitJobs(
        _ author: JobJudge.Author, holding duty: HeldDuty? = nil, now: Timestamp,
        _ find: () throws -> (writes: [JobWrite], access: AccessBinding)
    ) throws -> (made: [Bool], Committer.Outcome?) {
        var made: [Bool] = []
        let outcome = try committer.commit(now: now, holding: duty) {
            let (writes, access) = try find()
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
        report(outcome)
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

    /// Whether it asks for changes of records, which a commit makes; everything else is read.
    fileprivate var changesRecords: Bool {
        switch self {
        case .apply, .settle: true
        case .chunk, .count, .list, .rows, .wait, .queue, .record, .records, .spaces: false
        }
    }
}
