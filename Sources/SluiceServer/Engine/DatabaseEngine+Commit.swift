internal import SluiceExchange
package import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The way of a commit: uploads are gathered, committed as a group, and published to the views that they concern.
extension DatabaseEngine {
    /// Gives the committer what it asks of other parts, and lets the database append by it.
    func connectCommitter() {
        committer.isOpen = { [sessions] in sessions[$0] != nil }
        committer.concerns = { [permissions] in permissions.concerns($0) }
        committer.renew = { [unowned self] in try renewed($0, now: $1) }
        judgeWrites()
        committer.onFollowed = { [unowned self] in publishFollowed($0) }
        database.catchingUp = { [unowned self] in try committer.catchingUp($0) }
        database.catchUp = { [unowned self] in try committer.catchUp() }
    }

    /// Gathers the uploads of a session.
    ///
    /// - Throws: ``SessionEnd`` when the client has broken the protocol.
    func upload(_ changesets: [Changeset], from session: ServerSession, now: Timestamp) throws {
        guard takesUploads(of: session) else { return }
        // A commit may follow a group that ends the session, and then leaves its uploads out. What comes after them must
        // not be taken: the client would be told that it was, and what was left out with it.
        for changeset in changesets where sessions[session.id] === session {
            gather(try session.receive(changeset, now: now), now: now)
            if let problem = changeset.problem {
                // Where the next one begins is not known, so what the client sent after it has to come again.
                commit(now: now)
                throw SessionEnd(.protocolViolation, problem, action: .retry)
            }
        }
    }

    /// Gathers a transaction that came as JSON. One that cannot be made is rejected like any other.
    ///
    /// - Throws: ``SessionEnd`` when the client has broken the protocol.
    func write(
        _ write: ClientMessage.Write, from session: ServerSession, _ subscriber: Subscriber, now: Timestamp
    ) throws {
        guard takesUploads(of: session) else { return }
        var operations: [ObjectOperation] = []
        var problem: String?
        // What was decided before is acknowledged again, whatever it is.
        let isNew = !session.hasReceived(write.sequence)
        if isNew {
            do {
                operations = try writes.operations(of: write, as: subscriber.access, now: now) { commit(now: now) }
            } catch let error as WriteRequestError {
                problem = error.message
            }
        }
        guard sessions[session.id] === session else { return }
        let changeset = Changeset(
            sequence: write.sequence, baseVersion: database.storage.version,
            timestamp: HybridTimestamp(microseconds: now.microseconds), operations: operations)
        var upload = try session.receive(changeset, now: now)
        if let problem { upload.problem = .init(code: .invalidOperation, message: problem) }
        upload.request = isNew ? write : nil
        writes.noteGathered(operations)
        gather(upload, now: now)
    }

    /// Makes a transaction that came as JSON anew: its lines are about the objects as they are, and others have written
    /// since it was made.
    func renewed(_ upload: Upload, now: Timestamp) throws -> Upload {
        guard let write = upload.request else { return upload }
        var upload = upload
        upload.changeset.baseVersion = database.storage.version
        do {
            upload.changeset.operations = try writes.operations(
                of: write, as: permissions.binding(of: upload.session), now: now)
            upload.problem = nil
        } catch let error as WriteRequestError {
            upload.changeset.operations = []
            upload.problem = .init(code: .invalidOperation, message: error.message)
        }
        return upload
    }

    /// Whether a session may upload at the moment. Its client is told once if it may not.
    private func takesUploads(of session: ServerSession) -> Bool {
        let (isTaken, notice) = sessions.takesUploads(of: session)
        output.send(notice, to: session.id)
        return isTaken
    }

    /// Gathers an upload, and commits the group if it is full, or if the next upload must be judged by what this one has
    /// written.
    private func gather(_ upload: Upload, now: Timestamp) {
        committer.add(upload)
        if committer.isFull || permissions.concerns(upload.changeset) { commit(now: now) }
    }

    /// Commits the uploads gathered so far, and sends the result to all sessions concerned.
    ///
    /// - Parameter isPressing: whether what nobody waits for is committed, too.
    func commit(now: Timestamp, isPressing: Bool = false) {
        report(committer.commit(now: now, isPressing: isPressing))
        while committer.hasUploads { report(committer.commit(now: now)) }
        writes.forgetGathered()
    }

    /// Sends what came of a group to all sessions concerned.
    func report(_ outcome: Committer.Outcome?) {
        switch outcome {
        case nil: break
        case .committed(let group):
            let start = committer.meter.now
            publish(group)
            audit.note(group.rejections, of: database.storage.schema) { sessions[$0]?.user.id }
            committer.meter.notePublished(since: start)
            if database.noteCommit() { recallSessions() }
        case .obstructed(let error, let authors):
            for session in authors.compactMap({ sessions[$0] }) {
                output.send(sessions.holdBack(session, because: error), to: session.id)
            }
        case .failed(let error, let authors):
            for session in authors.compactMap({ sessions[$0] }) {
                if let damage = database.storage.damage {
                    output.send(sessions.refuseUploads(of: session, because: damage), to: session.id)
                } else {
                    let message = Consequence.sentence(
                        "the server could not store the upload, which will be sent again", of: database.name,
                        because: error)
                    end(session.id, .init(because: error, message))
                }
            }
        }
    }

    /// Applies and publishes what other engines have appended to the journal. A record that does not continue this
    /// database's history changes nothing, and ends every session; one that is applied already is left out.
    func follow(_ records: [JournalRecord]) {
        do { try committer.follow(records) } catch {
            endAll(sessions.ending(after: error, "the journal could not be followed"))
        }
    }

    /// Applies and publishes some of what other engines have appended, and notes whether there is more. When there is not,
    /// those may come who were held back while the journal did not answer.
    func followSome() {
        do {
            isBehind = try committer.followSome()
            stuckPosition = nil
            if !isBehind, database.noteAnswer() { recallSessions() }
        } catch {
            isBehind = false
            stuckPosition = database.storage.head.position
            if database.noteObstacle(error) || database.otherHistory != nil { return }
            endAll(sessions.ending(after: error, "the journal could not be followed"))
        }
    }

    /// What is known of the database, for those who must not wait for its turns.
    var health: DatabaseHealth {
        DatabaseHealth(
            isWritable: database.isWritable, isDamaged: database.storage.damage != nil,
            isSilent: database.silence != nil,
            isBehind: isBehind || stuckPosition == database.storage.head.position,
            position: database.storage.head.position, rightsNumber: rightsNumber)
    }

    /// Publishes a group that another engine has appended.
    func publishFollowed(_ group: CommittedGroup) {
        // It is somebody else's, also while this process writes.
        let writing = observers.writingHandle
        observers.writingHandle = nil
        defer { observers.writingHandle = writing }
        if group.changesSchema { beginSessionsAnew() }
        // The client has gone to another engine, before this one has noticed the end of its connection.
        for client in group.visitors {
            if let stale = sessions.session(ofClient: client) { end(stale, Self.hasOpenedAnother) }
        }
        publish(acknowledgingOwn(group))
        if group.changesRules { hold(rules.latest()) }
        if group.beginsEpoch { endSessionsOfEpoch() }
        if group.isComparison { replica.compute() }
    }

    /// A group of which this engine did not learn that the journal has it: its authors have their sessions here.
    private func acknowledgingOwn(_ group: CommittedGroup) -> CommittedGroup {
        var group = group
        for (client, sequence) in group.sequences {
            if let session = sessions.session(ofClient: client) { group.acknowledged[session] = sequence }
        }
        return group
    }

    /// Ends every session, since what its client knows of the history is an epoch that has ended. Every client has been
    /// sent all of that epoch, so it comes back with a version of it and goes on from there.
    private func endSessionsOfEpoch() {
        endAll(.init(.historyChanged, "the database's history goes on in another epoch", action: .retry))
    }

    /// Sends the changes of a durable group to all sessions concerned, and acknowledges the uploads to their authors.
    ///
    /// Whoever may read something else since the group is brought there in the same messages: nothing is sent any more
    /// of what the session could read before.
    private func publish(_ group: CommittedGroup) {
        var group = group
        // A group that writes nothing moves time, and nothing else.
        let movesTime = group.delta.changeCount == 0 && group.authors.count == 1
        group.delta = hub.passing(group.delta, by: movesTime ? [0] : [])
        publish(group, switching: permissions.follow(group.delta))
    }

    func publish(_ group: CommittedGroup, switching changes: [Permissions.Change]) {
        lifecycle.content.note(group.delta)
        let openCount = sessions.count
        let veil =
            permissions.rules?.hidesUsers(of: database.storage.schema) ?? false
            ? AuthorVeil(group, in: database.storage) { [subscriptions] in subscriptions[$0] } : nil
        var publication = Publication(group, database, veil: veil)
        // The versions of a group ascend by one.
        let before = group.authors.first.map { $0.version - 1 } ?? group.delta.version
        var contexts = ContextSwitch(database, lifecycle, group.delta, from: before)
        working { contexts.leave(changes, subscriptions, &publication, &$0) }
        // What this process observes is told with the commit, and a database in memory has one connection.
        let mayBeLate: ((SharedView) -> Bool)? =
            database.storage.canBeReadAside ? { !$0.isObserved } : nil
        let stragglers = hub.follow(group.delta, where: mayBeLate) { view, delta in
            lifecycle.content.note(delta, of: view)
            try observers.note(delta, of: view, in: group, over: database.storage)
            if view.hasSubscriptions { try publication.add(delta, of: view) }
        }
        for (view, error) in stragglers.failures { giveUp(view, because: error) }
        for view in stragglers.late { contexts.setAside(view, &publication) }
        contexts.arrive()
        let allAreOpen = sessions.count == openCount
        output.append(publication.frames { allAreOpen || sessions[$0] != nil })
        encodedBlockCount += publication.encodedCount
        working { contexts.beginAgain(&$0) }
        hub.dropIdleAtoms()
        working {
            kept.follow(group.delta, &$0)
            kept.notify(ofCreatedInVain: group.createdInVain, &$0)
        }
        working { lifecycle.content.failOverloaded(&$0) }
    }

    /// Ends a view that could not follow a commit. Its subscribers start anew, or learn that their query takes too much
    /// work.
    private func giveUp(_ view: SharedView, because error: any Error) {
        if view.isObserved {
            observers.fail(
                view, ServerError(.database, "the observed query could not follow a commit: \(error)", cause: error))
            lifecycle.content.release(view)
        }
        if let error = error as? StorageError, error.endsQueryAlone {
            working { output in
                for subscription in view.subscriptions { lifecycle.content.end(subscription, because: error, &output) }
            }
            return
        }
        let reason = sessions.ending(after: error, "a view could not follow a commit")
        for session in view.subscriptions.map(\.session) { end(session, reason) }
    }

    // MARK: Checks

    /// Whether what clients keep is being judged over several turns.
    package var isJudgingCached: Bool { kept.checks.isJudging }

    /// Sends the digest of the next view that is due to all sessions for which it is complete, or has it made beside the
    /// queue (``takeReading()``); tells clients what of the objects that they keep they may not read any more; and stores
    /// what has waited long enough for uploads to go with.
    ///
    /// - Returns: the messages to send; none for most calls.
    package func checkSessions(now: Timestamp) -> [DatabaseAction] {
        commit(now: now)
        passTime(now: now)
        working { kept.judgeSome(&$0, now: now) }
        working { digests.sendNext(&$0, now: now) }
        return takeOutput()
    }
}

extension ClientMessage {
    /// Whether to handle it may bring the database to another state: by what it stores, or by what others have appended,
    /// which is applied first.
    var mayChangeState: Bool {
        switch self {
        case .declare, .remove, .deploy, .job: true
        default: false
        }
    }
}
