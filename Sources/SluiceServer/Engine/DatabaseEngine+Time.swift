package import SluiceModel
package import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Time for queries with `$now`. The time of a version is when its group was accepted, so it moves with each commit, and
/// all servers of a cluster agree on it. Where a date passes without a commit, the engine makes one that writes nothing.
extension DatabaseEngine {
    /// When time has to move for some query; nil if it need not. Then ``checkSessions(now:)`` is to be called.
    package var nextTick: Timestamp? { canMoveTime ? hub.clock.next : nil }

    private var canMoveTime: Bool { database.isWritable && database.silence == nil }

    /// Moves time if a date has passed since the last commit.
    func passTime(now: Timestamp) {
        guard let next = hub.clock.next, next <= now, canMoveTime,
            hub.clock.isDue(at: now, in: database.storage)
        else { return }
        // What was gathered moves it, too.
        commit(now: now)
        let outcome = try? committer.commit(now: now, holding: nil) {
            // Another server may have been first.
            guard hub.clock.isDue(at: now, in: database.storage) else { return (nil, []) }
            let changeset = Changeset(
                sequence: 0, baseVersion: database.storage.version,
                timestamp: HybridTimestamp(microseconds: now.microseconds),
                operations: [])
            return (
                Upload(
                    session: .server, clientID: Upload.serverClientID, userID: User.serverID, changeset: changeset), []
            )
        }
        report(outcome)
        if hub.clock.next.map({ $0 <= now }) ?? false { hub.clock.noteFailure(now: now) }
    }

    /// Brings time to the present for a query with `$now` that is about to be run or to begin.
    ///
    /// - Parameter isAwaited: whether time is to move once more when the next date passes.
    package func bringTime(to now: Timestamp, for query: Query, isAwaited: Bool) {
        guard query.readsTime else { return }
        hub.clock.name(query, isAwaited: isAwaited, now: now, in: database.storage)
        passTime(now: now)
    }

    /// The query of a request that depends on the time.
    func timedQuery(of message: ClientMessage) -> Query? {
        guard case .subscribe(let request) = message, request.query.mayReadTime,
            let query = try? Query.parse(request.query, schema: database.storage.schema), query.readsTime
        else { return nil }
        return query
    }
}

extension String {
    /// Whether `$now` occurs in a query's text, be it within a string. Each request of a client is asked this before its
    /// text is parsed, so it compares bytes. O(length).
    fileprivate var mayReadTime: Bool {
        var rest = utf8[...]
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            rest = rest[rest.index(after: dollar)...]
            if rest.starts(with: "now".utf8) { return true }
        }
        return false
    }
}
