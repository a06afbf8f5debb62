internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Starting subscriptions, in turns. Each is tried within its session's share of a turn. A query that needs more is
/// prepared beside the writer, one query of a database at a time, with sessions in rotation.
extension DatabaseEngine {
    /// Starts waiting subscriptions as far as the turn allows.
    func startWaiting(now: Timestamp) {
        while turn.stepCountLeft > 0, let start = starting.nextStart(where: { turn.allowance(of: $0) > 0 }) {
            let session = start.session
            guard sessions[session.id] === session else { continue }
            var resumed = Resumption(byteCountLeft: limits.frameByteCount)
            guardingStorage(session) {
                if try !begin(start, with: &resumed, now: now) { starting.append(start) }
            }
            send(resumed, to: session)
        }
    }

    /// Starts a subscription, if the turn allows that.
    ///
    /// - Parameter resumed: collects the messages that bring a resumed subscription up to date; none if pages will
    ///   follow.
    /// - Returns: false if the turn has not enough steps left, so that the start must be tried again.
    func begin(_ start: SubscriptionStart, with resumed: inout Resumption, now: Timestamp) throws -> Bool {
        let allowance = turn.allowance(of: start.session.id)
        guard allowance > 0 else { return false }
        do {
            guard let view = try attempting(for: start.session.id, { try sharedView(of: start.query) }) else {
                // With less than its full share in this turn, the session may succeed in its next turn.
                guard allowance >= limits.shareStepCountMax else { return false }
                starting.append(.view(start))
                return true
            }
            try subscribe(start, to: view, with: &resumed, now: now)
        } catch let error as StorageError where error.endsQueryAlone {
            refuse(start, because: error)
        }
        return true
    }

    /// Runs the work of a query within the steps that the session has left in the turn.
    ///
    /// - Returns: nil if the steps were not enough.
    func attempting<Result>(for session: SessionID, _ body: () throws -> Result) throws -> Result? {
        let allowance = turn.allowance(of: session)
        guard allowance > 0 else { return nil }
        return try limitingWork(for: session) { try $0.attempting(allowance, body) }
    }

    // MARK: Costly work

    /// Whether there is work to do beside the writer, and no such work is running.
    var hasCostlyWork: Bool { preparing == nil && starting.hasCostly(where: hasRoom) }

    /// Whether a session may get another list of roots. Lists take memory, so a session that does not take its pages
    /// gets no more.
    private func hasRoom(_ session: SessionID) -> Bool {
        (sessions[session]?.listedRootCount ?? 0) < limits.listedRootCountMax
    }

    /// Begins the next piece of costly work. A database in memory has no other connection than its writer, which then
    /// does the work.
    func prepareNext(now: Timestamp) {
        guard preparing == nil, let work = starting.nextCostly(where: hasRoom) else { return }
        let session = work.session
        guard sessions[session.id] === session else { return }
        guardingStorage(session) {
            do {
                guard let snapshot = try storage.snapshot() else { return try workInPlace(work, now: now) }
                prepare(work, for: session.id, on: snapshot)
            } catch let error as StorageError where error.isOfDamage {
                end(work, because: error)
            }
        }
    }

    private func prepare(_ work: CostlyWork, for session: SessionID, on snapshot: any ServerSnapshot) {
        let isAbandoned = isAbandoned
        let preparation: QueryPreparation
        switch work {
        case .view(let start):
            preparation = QueryPreparation(
                making: LiveView(start.query, shape: shapes.shape(of: start.query)), for: session, on: snapshot,
                stepCountMax: limits.queryStepCountMax, isAbandoned: { isAbandoned(nil) })
        case .roots(let subscription):
            preparation = QueryPreparation(
                listing: subscription.view.query, after: subscription.remaining?.unlistedAfter,
                for: session, on: snapshot, stepCountMax: limits.queryStepCountMax,
                isAbandoned: { isAbandoned(nil) })
        }
        preparing = Preparing(work: work, preparation: preparation)
        handedOut = preparation
    }

    /// Ends the subscription for which costly work was done.
    private func end(_ work: CostlyWork, because error: StorageError) {
        switch work {
        case .view(let start): refuse(start, because: error)
        case .roots(let subscription): end(subscription, because: error)
        }
    }

    private func workInPlace(_ work: CostlyWork, now: Timestamp) throws {
        switch work {
        case .view(let start):
            do {
                let view = try limitingWork(for: start.session.id) { _ in try sharedView(of: start.query) }
                try finish(start, with: view, now: now)
            } catch let error as StorageError where error.endsQueryAlone {
                refuse(start, because: error)
            }
        case .roots(let subscription):
            try guardingQuery(of: subscription) { _ in
                let roots = try storage.roots(
                    matching: subscription.view.query, after: subscription.remaining?.unlistedAfter)
                subscription.list(roots)
            }
        }
    }

    /// Continues with the result of a preparation.
    func finish(_ preparation: QueryPreparation, now: Timestamp) {
        guard let work = preparing?.work, preparing?.preparation === preparation else { return }
        preparing = nil
        let session = work.session
        guard sessions[session.id] === session else { return }
        guardingStorage(session) {
            do {
                switch (work, preparation.outcome) {
                case (.view(let start), .view(let live, let version)):
                    try finish(live, asOf: version, for: start, now: now)
                case (.roots(let subscription), .roots(let roots)): subscription.list(roots)
                case (_, .failed(let error)): throw error
                case (_, .none), (.view, .roots), (.roots, .view): break
                }
            } catch let error as StorageError where error.endsQueryAlone || error.code == .cancelled {
                // Nobody waits for cancelled work any more.
                if error.code != .cancelled { end(work, because: error) }
            }
        }
    }

    /// Brings a view of an earlier version up to date, and starts the subscription for which it was made.
    private func finish(_ live: LiveView, asOf version: UInt64, for start: SubscriptionStart, now: Timestamp) throws {
        if let view = views[start.query.hash] { return try finish(start, with: view, now: now) }
        guard live.shape.isSame(under: storage.schema) else {
            var start = start
            start.query = try start.query.rebound(to: storage.schema)
            return starting.append(.view(start))
        }
        if version < storage.version {
            guard version >= storage.logStart, let commit = try changes(since: version) else {
                // Too much has changed meanwhile to bring the view up to date.
                return starting.append(.view(start))
            }
            let before = OldStateSource(commit, over: storage, schema: storage.schema)
            _ = try limitingWork(for: start.session.id, stepCountMax: limits.upkeepStepCountMax) { _ in
                try live.apply(commit, in: storage, before: before)
            }
        }
        try finish(start, with: insert(live), now: now)
    }

    private func finish(_ start: SubscriptionStart, with view: SharedView, now: Timestamp) throws {
        var resumed = Resumption(byteCountLeft: limits.frameByteCount)
        try subscribe(start, to: view, with: &resumed, now: now)
        send(resumed, to: start.session)
    }

    /// Cancels the preparation for a session, or for one of its subscriptions.
    func cancelPreparation(of session: SessionID, subscription: UInt64? = nil) {
        guard let preparing, preparing.work.session.id == session else { return }
        if let subscription, preparing.work.subscription != subscription { return }
        preparing.preparation.cancel()
    }
}

extension DatabaseEngine {
    /// The work that is being done beside the writer.
    struct Preparing {
        let work: CostlyWork
        let preparation: QueryPreparation
    }
}
