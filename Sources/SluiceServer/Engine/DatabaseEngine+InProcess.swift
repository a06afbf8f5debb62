package import SluiceModel
package import SluiceQuery
package import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What the server's own process does with a database, without a session: rules do not bind it, it is the author
/// `server`, and what it has written is durable when the call returns.
extension DatabaseEngine {
    /// The database's objects and schema.
    package var objects: any ObjectReading { database.storage }

    /// What is to be sent after work of this process.
    package func finishOwnWork() -> [DatabaseAction] { takeOutput() }

    /// Runs a transaction: reads the present state, and commits what it returns as one version.
    ///
    /// - Parameters:
    ///   - handle: who writes; its observers are told that they wrote it themselves.
    ///   - userID: the user whose write it counts as, whom rules and validators bind; nil for the server itself.
    ///   - duty: what the server must have when the journal takes it; nil for nothing.
    ///   - body: makes the transaction for the state and at the time that it is given. It runs again where another engine
    ///     has appended to the journal meanwhile.
    /// - Throws: what `body` throws; ``JobConflict`` when a change of a record of a job does not count; ``ServerError``
    ///   when the transaction was rejected or could not be stored. Nothing of it is stored then, except perhaps after
    ///   ``ServerError/Code/outcomeUnknown``.
    package func write<Result>(
        by handle: UInt64, as userID: String? = nil, holding duty: HeldDuty? = nil, now: Timestamp,
        _ body: (SQLiteServerStorage, HybridTimestamp) throws -> OwnTransaction<Result>
    ) throws -> Result {
        try prepareToWrite(now: now)
        let session = userID == nil ? SessionID.server : .actingServer
        defer { if userID != nil { permissions.close(session) } }
        observers.writingHandle = handle
        defer { observers.writingHandle = nil }
        var result: Result?
        let outcome = try committer.commit(now: now, holding: duty) {
            let timestamp = timestamp(now: now)
            let made = try database.storage.reading(at: now) { try trying { try body($0, timestamp) } }
            result = made.result
            guard !made.operations.isEmpty || !made.jobs.isEmpty else { return (nil, []) }
            if let userID { try openActing(session, userID) }
            var changeset = Changeset(
                sequence: 0, baseVersion: database.storage.version, timestamp: timestamp, operations: made.operations)
            changeset.jobs = made.jobs
            let upload = Upload(
                session: session, clientID: Upload.serverClientID, userID: userID ?? User.serverID,
                changeset: changeset)
            return (upload, [])
        }
        report(outcome)
        switch outcome {
        case nil: break
        case .committed(let group)?:
            guard let rejected = group.rejections.first(where: { $0.session == session }) else { break }
            if let conflict = JobConflict(rejected.rejection) { throw conflict }
            let reasons = rejected.rejection.reasons.map(\.message).joined(separator: "; ")
            throw ServerError(.rejected, "the transaction was rejected: \(reasons)")
        case .obstructed(let error, _)?: throw ServerError(writing: database.name, because: error)
        case .failed(let lost as DutyLost, _)?: throw ServerError(lostIn: database.name, lost)
        case .failed(let error, _)?: throw ServerError(writing: database.name, because: error)
        }
        guard let result else { throw ServerError(.database, "the transaction did not run") }
        return result
    }

    /// Commits what waits, so that the state is the present one.
    ///
    /// - Throws: ``ServerError`` when nothing can be written.
    private func prepareToWrite(now: Timestamp) throws {
        if let error = database.storage.damage ?? database.storage.obstacle ?? database.silence {
            throw ServerError(writing: database.name, because: error)
        }
        commit(now: now)
        passTime(now: now)
    }

    /// Changes records of jobs as far as the changes count, in one transaction.
    ///
    /// - Parameters:
    ///   - userID: the user who must see the objects that the changes name; nil for the server itself.
    ///   - duty: as for ``write(by:as:holding:now:_:)``.
    /// - Returns: for each change whether it was made.
    /// - Throws: ``ServerError`` when they could not be stored; ``JobConflict`` for one that is malformed.
    package func applyJobs(
        _ writes: [JobWrite], as userID: String?, holding duty: HeldDuty? = nil, now: Timestamp
    ) throws -> [Bool] {
        try prepareToWrite(now: now)
        defer { if userID != nil { permissions.close(.actingServer) } }
        let (made, outcome) = try commitJobs(.server, holding: duty, now: now) {
            guard let userID else { return (writes, permissions.binding(of: .server)) }
            try openActing(.actingServer, userID)
            return (writes, permissions.binding(of: .actingServer))
        }
        switch outcome {
        case .failed(let lost as DutyLost, _)?: throw ServerError(lostIn: database.name, lost)
        case .failed(let error, _)?: throw ServerError(writing: database.name, because: error)
        case .obstructed(let error, _)?: throw ServerError(writing: database.name, because: error)
        case nil, .committed?: return made
        }
    }

    /// Later than everything that a transaction could see, so that nobody's earlier write wins over it.
    private func timestamp(now: Timestamp) -> HybridTimestamp {
        let latest = database.storage.latestTimestamp?.microseconds ?? .min
        return HybridTimestamp(microseconds: max(now.microseconds, latest == .max ? latest : latest + 1))
    }

    /// Finds what a user may do as whom this process writes.
    private func openActing(_ session: SessionID, _ userID: String) throws {
        do { try permissions.open(session, User(id: userID, mayExtendSchema: false)) } catch {
            throw ServerError(.database, "it cannot be found out what the user may do: \(error)", cause: error)
        }
    }

    /// A query as a user may read it.
    ///
    /// - Parameter userID: nil for the server itself, which reads everything.
    /// - Throws: ``ServerError`` when the query names what the user may not read.
    func query(_ query: Query, readBy userID: String?) throws -> Query {
        guard let userID else { return query }
        defer { permissions.close(.actingServer) }
        try openActing(.actingServer, userID)
        do { return try permissions.binding(of: .actingServer).query(query) } catch {
            throw ServerError(.rejected, "the user '\(userID)' cannot ask this: \(error.message)", cause: error)
        }
    }

    /// Runs what may write on trial, and undoes that.
    private func trying<Result>(_ body: (SQLiteServerStorage) throws -> Result) rethrows -> Result {
        defer { database.storage.endTrial() }
        return try body(database.storage)
    }

    /// Adds classes, properties and indexes to the schema.
    ///
    /// - Throws: `SchemaError` when they contradict it; ``StorageError``.
    package func declare(_ schema: Schema) throws {
        try follow(database.extendSchema(by: schema) { true })
    }

    /// Begins an observation. The changes after the present state go into the inbox, behind the results of the present
    /// state once ``InitialResults/read()`` was called, on any thread.
    package func observe(
        _ query: Query, by handle: UInt64, _ inbox: ChangeInbox, now: Timestamp
    ) throws -> (UInt64, InitialResults) {
        bringTime(to: now, for: query, isAwaited: false)
        let view = try lifecycle.content.view(of: query)
        let number = observers.begin(view, by: handle, inbox)
        do {
            return (number, try InitialResults(query, of: database.storage, into: inbox))
        } catch {
            endObservation(number)
            throw error
        }
    }

    /// Ends an observation, and its view if nobody else has it.
    package func endObservation(_ number: UInt64) {
        if let view = observers.end(number) { lifecycle.content.release(view) }
    }

    /// The status of the database, as JSON.
    package func status() throws -> [UInt8] { try report(.status) }

    /// The queries that clients observe, as JSON.
    package func subscriptionReport() throws -> [UInt8] { try report(.subscriptions) }

    /// The costliest queries, as JSON.
    func topReport() throws -> [UInt8] { try report(.top) }

    /// The version of the database.
    var version: UInt64 { database.storage.version }

    /// How many subscriptions each session has.
    var subscriptionCounts: [SessionID: SubscriptionCounts] { subscriptions.countsBySession }

    private func report(_ topic: ClientMessage.ReportTopic) throws -> [UInt8] {
        let request = ClientMessage.ReportRequest(session: 0, request: 0, topic: topic)
        switch try reports.answer(request, to: .everything, { facts }) {
        case .report(_, _, let json): return json
        case .reportError(let failure): throw ServerError(.database, failure.message)
        default: throw ServerError(.database, "the database could not be reported on")
        }
    }

    /// Ends all observations of this process.
    package func endObservations(_ error: ServerError) { observers.failAll(error) }

    /// A snapshot of the present state, to be read beside the queue; nil for a database in memory.
    ///
    /// - Parameter time: what `$now` is; nil for the time of the version.
    package func snapshot(at time: Timestamp? = nil) throws -> ServerSnapshot? {
        let snapshot = try database.storage.snapshot()
        if let time { snapshot?.read(at: time) }
        return snapshot
    }

    /// Reads the present state at a time.
    func reading<Result>(at time: Timestamp, _ body: (SQLiteObjectStore) throws -> Result) rethrows -> Result {
        try database.storage.reading(at: time) { try body(database.storage) }
    }
}

extension ServerError {
    fileprivate init(lostIn name: String, _ lost: DutyLost) {
        self.init(
            .dutyLost,
            "nothing was written to the database '\(name)': another server may have the duty for which this one wrote",
            cause: lost)
    }

    fileprivate init(writing name: String, because error: any Error) {
        guard (error as? StorageError)?.code != .outcomeUnknown else {
            self.init(
                .outcomeUnknown,
                "nobody knows whether the transaction is in the database '\(name)', whose journal does not answer; read "
                    + "what there is once it does", cause: error)
            return
        }
        let text = "the database '\(name)' could not be written"
        self.init(.database, Consequence.sentence(text, of: name, because: error), cause: error)
    }
}
