internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What clients keep without a subscription leaves them too, once they may not read it any more.
extension DatabaseEngine {
    /// How many objects are watched that clients keep without a subscription. Tests use it.
    package var cachedObjectCount: Int { cached.count }

    /// Answers what a client offers: which of it is not there for its user.
    func judge(_ offer: KeptObjects, by subscriber: Subscriber) throws {
        if let problem = offer.content.problem(namingObjectsOf: database.storage.schema) {
            throw SessionEnd(.protocolViolation, problem, action: .retry)
        }
        let countMax = database.limits.offeredObjectCountMax
        guard offer.content.count <= countMax else {
            throw SessionEnd(.protocolViolation, "an offer names at most \(countMax) objects", action: .retry)
        }
        let session = subscriber.session
        let withdrawn = try database.limitingWork(for: session) { _ in
            try cached.offer(offer.content.objects, by: session, subscriber.access)
        }
        withdraw(withdrawn, from: session, answering: offer.request)
    }

    /// Tells those who keep what a commit has hidden.
    func withdraw(after commit: CommitDelta) {
        guard cached.count > 0 else { return }
        do {
            let withdrawn = try database.limitingWork(for: nil, stepCountMax: database.limits.upkeepStepCountMax) { _ in
                try cached.follow(commit) { subscriptions[$0]?.access }
            }
            for (session, objects) in withdrawn { withdraw(objects, from: session) }
        } catch {
            // A commit may concern more than one turn can judge.
            database.noteFailure("what clients keep is judged later", error, at: .debug)
            cached.judgeAllAgain()
        }
    }

    /// Tells authors which objects that they have created are not there, since others had deleted them later.
    func withdraw(createdInVain objects: [SessionID: [ObjectRef]]) {
        for (session, objects) in objects.sorted(by: { $0.key < $1.key })
        where sessions[session] != nil {
            withdraw(objects, from: session)
        }
    }

    /// Judges a part of what clients keep again, if what rules read has changed.
    func judgeCached(now: Timestamp) {
        guard cached.count > 0 else { return }
        var concerned: SessionID?
        do {
            let next = try database.limitingWork(for: nil, stepCountMax: database.limits.upkeepStepCountMax) { _ in
                try cached.next(now: now) {
                    concerned = $0
                    return subscriptions[$0]?.access
                }
            }
            if let (session, objects) = next, !objects.isEmpty { withdraw(objects, from: session) }
        } catch {
            if let concerned { end(concerned, reason(of: error, "what a client keeps could not be judged")) }
        }
    }

    /// - Parameter request: the number of the offer; 0 where a commit has hidden the objects, or not made them.
    private func withdraw(_ objects: [ObjectRef], from session: SessionID, answering request: UInt64 = 0) {
        var content = ObjectBlock()
        for object in objects { content.append(object, version: 0, role: .member) }
        output.send([.withdrawn(.init(session: session.session, request: request, content: content))], to: session)
    }
}
