import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

/// The invariants that are checked after every step.
extension Simulation {
    /// Checks one client: its subscriptions against the oracle, its observers, and its outbox against the server's
    /// history.
    func check(_ client: SimulatedClient) throws {
        let storage = client.storage
        var checked: Set<ObjectID> = []
        let records = storage.subscriptions.filter { !$0.isDormant }
        // Of hundreds of subscriptions, each step checks a part; at rest all are checked.
        let share = max(1, records.count / 24)
        checkCount += 1
        for (position, record) in records.enumerated() {
            // One that has become the same as a former one, when a property was renamed, is filed as it was.
            let query = try client.query(record.canonicalText)
            checked.insert(query.hash)
            guard (position + checkCount) % share == 0 else { continue }
            if record.state == .complete {
                let version = storage.syncState?.version ?? 0
                guard let state = server.history.state(at: version, inEpoch: storage.syncState?.epoch ?? 0) else {
                    throw SimulationFailure("client \(client.index) stands at version \(version), which never was")
                }
                try check(client, query, record, at: state)
                if query.readsTime, storage.isTimeOwn {
                    try checkEverythingOnDisk(client, query, record)
                }
            } else {
                try checkEverythingOnDisk(client, query, record)
            }
        }
        for (position, mirror) in client.observations.enumerated() {
            guard (position + checkCount) % share == 0 || !checked.contains(mirror.query.hash) else { continue }
            guard checked.contains(mirror.query.hash) else {
                throw SimulationFailure("client \(client.index) observes '\(mirror.query)' without a subscription")
            }
            try naming(client) {
                try mirror.check(
                    storage.results(of: mirror.query), total: storage.total(of: mirror.query),
                    groups: storage.groups(of: mirror.query))
            }
        }
        try checkOutbox(client)
        // It reads everything that the store has, so it is looked at now and then, and at rest.
        if checkCount % 8 == 0 { try checkHolding(client) }
    }

    private func check(
        _ client: SimulatedClient, _ query: Query, _ record: SubscriptionRecord, at state: ServerState
    ) throws {
        var failure: (any Error)?
        for readable in try readable(state, by: client, hasHoles: record.hasHoles) {
            do { return try SubscriptionCheck(client, query, record, readable).run() } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func naming(_ client: SimulatedClient, _ body: () throws -> Void) throws {
        do { try body() } catch let failure as SimulationFailure {
            throw SimulationFailure("client \(client.index): \(failure.message)")
        }
    }

    /// Checks that a subscription that is not complete shows everything on disk that matches. For rows that cannot be
    /// judged here, the server's membership counts.
    private func checkEverythingOnDisk(
        _ client: SimulatedClient, _ query: Query, _ record: SubscriptionRecord
    ) throws {
        let storage = client.storage
        guard query.object == nil else { return }
        let evaluator = Evaluator(query, schema: storage.schema)
        var expected: [ResultEntry] = []
        try storage.forEachRow(ofClass: query.classIndex) { row in
            let object = ObjectRef(query.classIndex, row.key)
            let isJudgeable = try evaluator.isJudgeable(row, in: storage)
            let isResult =
                try isJudgeable
                ? evaluator.matches(row, in: storage) : storage.isMember(object, of: record.id, role: .root)
            if isResult { expected.append(try entry(row, query, evaluator, storage)) }
            return true
        }
        try compare(expected, query, client, "not complete")
    }

    private func entry(
        _ row: Row, _ query: Query, _ evaluator: Evaluator, _ storage: SQLiteClientStorage
    ) throws -> ResultEntry {
        let id = Identity(className: query.className, key: row.key).objectID
        let position = SortPosition(values: try evaluator.sortValues(of: row, in: storage), id: id)
        return ResultEntry(object: ObjectRef(query.classIndex, row.key), position: position, row: row)
    }

    private func compare(
        _ expected: [ResultEntry], _ query: Query, _ client: SimulatedClient, _ what: String
    ) throws {
        let keys = query.results(among: expected, values: \.position.values, id: \.position.id).map(\.object.key)
        let actual = try client.storage.results(of: query).visible.map(\.object.key)
        guard actual == Array(keys) else {
            throw SimulationFailure(
                "client \(client.index): '\(query)', \(what), shows \(actual) and should show \(Array(keys))")
        }
    }

    // MARK: Writes

    /// Checks that every transaction that left the outbox is in the server's history exactly once, or not at all if it
    /// was rejected.
    private func checkOutbox(_ client: SimulatedClient) throws {
        let waiting = try outbox(of: client)
        guard waiting.count == client.storage.outboxCount else {
            throw SimulationFailure("client \(client.index) counts \(client.storage.outboxCount) of \(waiting.count)")
        }
        for write in client.ledger where waiting[write.sequence] == nil {
            guard has(write, of: client) else {
                throw SimulationFailure(
                    "client \(client.index) dropped transaction \(write.sequence), which the server should \(write.isRejected ? "not " : "")have: "
                        + client.whatItWasTold
                )
            }
        }
    }

    /// The objects of each transaction in the outbox, by its sequence.
    private func outbox(of client: SimulatedClient) throws -> [UInt64: Set<ObjectRef>] {
        var objects: [UInt64: Set<ObjectRef>] = [:]
        try client.storage.forEachOutboxChangeset(after: 0) { changeset in
            objects[changeset.sequence] = Set(changeset.operations.map(\.object))
            return true
        }
        return objects
    }

    // MARK: Ending a subscription

    /// Ends a subscription with `body`, and checks which objects stay and which are purged.
    func ending(_ query: Query, of client: SimulatedClient, purging: Bool, _ body: () throws -> Void) throws {
        let storage = client.storage
        let hash = query.hash
        let own = storage.subscriptions.first { $0.hash == hash }
        var ofOthers: Set<ObjectRef> = []
        for record in storage.subscriptions where !record.isDormant && record.hash != hash {
            ofOthers.formUnion(try members(of: record, client))
        }
        let pending = Set(try storage.pendingObjects)
        let outbox = try outbox(of: client)
        let before = try presentObjects(client)
        let wasStaging = own.map { storage.isStaging($0.id) } ?? false
        let known = try storage.subscriptions.map { (id: $0.id, members: try heldAlone(by: $0, client)) }
        let ownMembers = try own.map { try members(of: $0, client) } ?? []
        try body()
        // What a subscription leaves behind of which the store keeps no record.
        let remembered = Set(storage.subscriptions.map(\.id))
        for record in known where !remembered.contains(record.id) && !(purging && record.id == own?.id) {
            client.cached.formUnion(record.members)
        }
        try carryOutActions(of: client)
        let after = try presentObjects(client)
        // With the last subscription nothing is waited for any more, so the transaction that ends it may take acknowledged
        // writes out of the outbox, too. What it then shows of their objects is judged by the other checks: one whose
        // creation was rejected goes, although an update of it waits still.
        let left = try self.outbox(of: client)
        let settled = outbox.filter { left[$0.key] == nil }.reduce(into: Set()) { $0.formUnion($1.value) }
        let protected = ofOthers.union(pending.subtracting(settled))
        let lost = before.subtracting(after).subtracting(settled.subtracting(ofOthers))
        guard lost.isDisjoint(with: protected) else {
            throw SimulationFailure(
                "client \(client.index): ending '\(query)' purged \(lost.intersection(protected)) of others")
        }
        // What a bootstrap under way has staged is not known here.
        guard lost.isSubset(of: ownMembers) || wasStaging else {
            throw SimulationFailure("client \(client.index): ending '\(query)' purged \(lost), which it did not hold")
        }
        if client.holdsSubscription(to: query) || !purging {
            guard lost.isEmpty else { throw SimulationFailure("client \(client.index): \(lost) went without a purge") }
        } else {
            // What other bootstraps have staged is protected too, and is not known here.
            let isStaging = storage.subscriptions.contains { !$0.isDormant && storage.isStaging($0.id) }
            guard isStaging || after.isDisjoint(with: ownMembers.subtracting(protected).subtracting(settled)) else {
                throw SimulationFailure("client \(client.index): ending '\(query)' left what nobody holds")
            }
        }
        let isSyncing = storage.subscriptions.contains { $0.hash == hash && !$0.isDormant }
        guard isSyncing == client.holdsSubscription(to: query) else {
            throw SimulationFailure("client \(client.index): '\(query)' syncs: \(isSyncing)")
        }
    }

    func members(of record: SubscriptionRecord, _ client: SimulatedClient) throws -> Set<ObjectRef> {
        var members: Set<ObjectRef> = []
        for role in MemberRole.allCases {
            try client.storage.forEachMember(of: record.id, role: role) { object in
                members.insert(object)
                return true
            }
        }
        return members
    }

    func presentObjects(_ client: SimulatedClient) throws -> Set<ObjectRef> {
        var objects: Set<ObjectRef> = []
        for classIndex in client.storage.schema.classes.indices {
            try client.storage.forEachRow(ofClass: classIndex) { row in
                objects.insert(ObjectRef(classIndex, row.key))
                return true
            }
        }
        return objects
    }

    /// After a purge, checks that only members and objects with pending writes are left. It checks nothing while
    /// members are being staged.
    func checkNothingUnheld(_ client: SimulatedClient) throws {
        var held = Set(try client.storage.pendingObjects)
        var isStaging = false
        for record in client.storage.subscriptions where !record.isDormant {
            held.formUnion(try members(of: record, client))
            isStaging = isStaging || client.storage.isStaging(record.id)
        }
        guard !isStaging else { return }
        let leftover = try presentObjects(client).subtracting(held)
        guard leftover.isEmpty else {
            throw SimulationFailure("client \(client.index) keeps \(leftover), which nothing holds")
        }
    }

    // MARK: Rest

    /// Checks what must hold when everything has been delivered.
    func checkAtRest(_ client: SimulatedClient) throws {
        try checkHolding(client)
        let storage = client.storage
        guard storage.outboxCount == 0 else {
            throw SimulationFailure(
                "client \(client.index) keeps \(storage.outboxCount) transactions that were all sent")
        }
        guard try storage.pendingObjects.isEmpty else {
            throw SimulationFailure("client \(client.index) has pending objects and an empty outbox")
        }
        for write in client.ledger {
            guard has(write, of: client) else {
                throw SimulationFailure("client \(client.index): transaction \(write.sequence) never arrived")
            }
        }
        let refused = client.ledger.reduce(0) { $0 + rejectionCount(of: $1, by: client) }
        // A crash between the commit and the callback may lose reports of rejections.
        guard
            client.rejectionCount == refused || plan.options.losesHistory
                || (client.life > 0 && client.rejectionCount < refused)
        else {
            throw SimulationFailure(
                "client \(client.index) heard of \(client.rejectionCount) rejections of \(refused)")
        }
        for record in storage.subscriptions where !record.isDormant {
            guard record.state == .complete else {
                throw SimulationFailure("client \(client.index): '\(record.canonicalText)' is \(record.state) at rest")
            }
            let query = try client.query(record.canonicalText)
            try SubscriptionCheck(client, query, record, readableAtRest(by: client), isAtRest: true).run()
        }
        try client.engine.purgeUnsubscribed()
        try carryOutActions(of: client)
        try checkNothingUnheld(client)
    }
}

extension Simulation {
    /// Whether the server accepted a client's transaction exactly once, or never if it had to reject it.
    private func has(_ write: SimulatedClient.Write, of client: SimulatedClient) -> Bool {
        let count = server.history.acceptedCount(of: write.sequence, by: client.clientIDs)
        if count == 0, client.isExcused(write, by: server.history) { return true }
        if write.isOfJob { return count <= 1 }
        // A history that was lost may have rejected what another one takes.
        if plan.options.losesHistory, mustBeRejected(write, of: client) { return count <= 1 }
        guard !client.clientIDs.isEmpty else { return false }
        return count == (mustBeRejected(write, of: client) ? 0 : 1)
    }

    /// Whether a transaction is not to be in the server's history: it is too large, or the server said that the rules
    /// forbid it, which ``WriteJudge`` checks, or that a validator does.
    private func mustBeRejected(_ write: SimulatedClient.Write, of client: SimulatedClient) -> Bool {
        rejectionCount(of: write, by: client) > 0
    }

    /// How many rejections of a transaction its author hears of: validators say of each object what is wrong.
    private func rejectionCount(of write: SimulatedClient.Write, by client: SimulatedClient) -> Int {
        if let id = client.clientIDs.last, let count = server.refusalCount(of: write.sequence, by: id) {
            return count
        }
        let isRejected =
            write.isRejected || isRuled && server.watch.rejected[client.index]?.contains(write.sequence) ?? false
        return isRejected ? 1 : 0
    }
}
