internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Tells clients what of the objects that they keep without a subscription is not there for their users, or not any more.
///
/// It belongs to the thread of its engine.
final class KeptObjectNotices {
    private let database: Database
    private let sessions: Sessions
    private let subscriptions: Subscriptions
    let checks: KeptObjectChecks

    init(_ database: Database, _ sessions: Sessions, _ subscriptions: Subscriptions) {
        self.database = database
        self.sessions = sessions
        self.subscriptions = subscriptions
        checks = KeptObjectChecks(database)
    }

    /// Answers what a client offers: which of it is not there for its user.
    ///
    /// - Throws: ``SessionEnd`` when the client has broken the protocol.
    func answer(_ offer: KeptObjects, by subscriber: Subscriber, _ output: inout TurnOutput) throws {
        if let problem = offer.content.problem(namingObjectsOf: database.storage.schema) {
            throw SessionEnd(.protocolViolation, problem, action: .retry)
        }
        let countMax = database.limits.offeredObjectCountMax
        guard offer.content.count <= countMax else {
            throw SessionEnd(.protocolViolation, "an offer names at most \(countMax) objects", action: .retry)
        }
        let session = subscriber.session
        let withdrawn = try database.limitingWork(for: session) { _ in
            try checks.offer(offer.content.objects, by: session, subscriber.access)
        }
        withdraw(withdrawn, from: session, answering: offer.request, &output)
    }

    /// Tells those who keep what a commit has hidden.
    func follow(_ commit: CommitDelta, _ output: inout TurnOutput) {
        guard checks.count > 0 else { return }
        do {
            let withdrawn = try database.limitingWork(for: nil, stepCountMax: database.limits.upkeepStepCountMax) { _ in
                try checks.follow(commit) { subscriptions[$0]?.access }
            }
            for (session, objects) in withdrawn { withdraw(objects, from: session, &output) }
        } catch {
            // A commit may concern more than one turn can judge.
            database.noteFailure("what clients keep is judged later", error, at: .debug)
            checks.judgeAllAgain()
        }
    }

    /// Tells authors which objects that they have created are not there, since others had deleted them later.
    func notify(ofCreatedInVain objects: [SessionID: [ObjectRef]], _ output: inout TurnOutput) {
        for (session, objects) in objects.sorted(by: { $0.key < $1.key }) where sessions[session] != nil {
            withdraw(objects, from: session, &output)
        }
    }

    /// Judges a part of what clients keep again, if what rules read has changed.
    func judgeSome(_ output: inout TurnOutput, now: Timestamp) {
        guard checks.count > 0 else { return }
        var concerned: SessionID?
        do {
            let next = try database.limitingWork(for: nil, stepCountMax: database.limits.upkeepStepCountMax) { _ in
                try checks.next(now: now) {
                    concerned = $0
                    return subscriptions[$0]?.access
                }
            }
            if let (session, objects) = next, !objects.isEmpty { withdraw(objects, from: session, &output) }
        } catch {
            if let concerned { output.fail(concerned, error) }
        }
    }

    /// Forgets a session that has ended.
    func close(_ session: SessionID) { checks.close(session) }

    /// - Parameter request: the number of the offer; 0 where a commit has hidden the objects, or not made them.
    private func withdraw(
        _ objects: [ObjectRef], from session: SessionID, answering request: UInt64 = 0, _ output: inout TurnOutput
    ) {
        var content = ObjectBlock()
        for object in objects { content.append(object, version: 0, role: .member) }
        output.send([.withdrawn(.init(session: session.session, request: request, content: content))], to: session)
    }
}
