package import SluiceModel
internal import SluiceWire

extension SQLiteClientStorage {
    /// Adds a subscription.
    ///
    /// - Parameter record: its `id` is ignored.
    /// - Returns: the record with its id.
    package func addSubscription(_ record: SubscriptionRecord) throws -> SubscriptionRecord {
        try requireTransaction()
        let sql = """
            INSERT INTO _subscriptions (query, hash, class, state, version, created, updated, dormant, holes, staging) \
            VALUES ('', x'', '', 0, 0, 0, 0, 0, 0, 0) RETURNING id
            """
        var record = record
        record.id = try connection.withStatement(sql) { statement in
            _ = try statement.step()
            return UInt64(clamping: statement.int(0))
        }
        state.subscriptions[record.id] = record
        try storeSubscription(record)
        return record
    }

    /// Stores a changed record.
    package func updateSubscription(_ record: SubscriptionRecord) throws {
        try requireTransaction()
        var record = record
        let former = try requireSubscription(record.id)
        record.hasHoles = former.hasHoles
        state.subscriptions[record.id] = record
        try storeSubscription(record)
        if record.figures != former.figures { try storeFigures(record.figures, of: record.id, former: former.figures) }
    }

    /// Few subscriptions have figures, and theirs change more often than the rest of a record. Writes the parts that are
    /// others than before.
    private func storeFigures(_ figures: [Value]?, of id: UInt64, former: [Value]?) throws {
        let known = StoredFigures.parts(of: former)
        let parts = StoredFigures.parts(of: figures)
        for (number, part) in parts.enumerated() where number >= known.count || known[number] != part {
            try meta.set(StoredFigures.name(ofSubscription: id, part: number), part.wireBytes())
        }
        for number in known.indices.dropFirst(parts.count) {
            try meta.remove(StoredFigures.name(ofSubscription: id, part: number))
        }
    }

    func storeSubscription(_ record: SubscriptionRecord) throws {
        isStateChanged = true
        let sql = """
            UPDATE _subscriptions SET query = ?, hash = ?, class = ?, state = ?, version = ?, created = ?, updated = ?, \
            dormant = ?, holes = ?, staging = ? WHERE id = ?
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, record.canonicalText)
            statement.bind(2, record.hash)
            statement.bind(3, record.className)
            statement.bind(4, Int64(record.state.rawValue))
            statement.bind(5, Int64(bitPattern: record.version))
            statement.bind(6, record.createdAt.microseconds)
            statement.bind(7, record.updatedAt.microseconds)
            statement.bind(8, Int64(record.isDormant ? 1 : 0))
            statement.bind(9, Int64(record.hasHoles ? 1 : 0))
            statement.bind(10, Int64(isStaging(record.id) ? 1 : 0))
            statement.bind(11, Int64(record.id))
            try statement.run()
        }
    }

    /// Removes a subscription and its membership; the objects stay.
    package func removeSubscription(_ id: UInt64) throws {
        try requireTransaction()
        try storeFigures(nil, of: id, former: requireSubscription(id).figures)
        state.subscriptions[id] = nil
        state.staging[id] = nil
        holders.noteDepartures(subscription: id, state.members)
        state.members.drop(id, onlyStaged: false)
        isStateChanged = true
        for sql in ["DELETE FROM _subscriptions WHERE id = ?", "DELETE FROM _members WHERE subscription = ?"] {
            try run(sql, id)
        }
    }

    // MARK: Staging

    /// Whether a bootstrap's membership is being staged. Survives reopening.
    package func isStaging(_ subscription: UInt64) -> Bool { state.staging[subscription] ?? false }

    /// Begins to stage a membership for a bootstrap, empty and beside the current one. What was staged before is
    /// abandoned (``abandonStaging(_:)``).
    package func beginStaging(_ subscription: UInt64) throws {
        try abandonStaging(subscription)
        try setStaging(true, subscription)
    }

    /// Begins to stage a copy of the current membership.
    package func beginStagingCopy(_ subscription: UInt64) throws {
        try beginStaging(subscription)
        try storeMembers()
        state.members.copyToStaged(subscription)
        let sql = """
            INSERT INTO _members (subscription, staged, class, role, chunk, rows) \
            SELECT subscription, 1, class, role, chunk, rows FROM _members WHERE subscription = ?
            """
        try run(sql, subscription)
    }

    /// Ends a staging that goes on no more, if there is one. What was staged is here because of the subscription, and so
    /// becomes a member, in the role in which it was staged; other members stay. A membership that has gained members in
    /// this way has holes (``SubscriptionRecord/hasHoles``).
    ///
    /// - Returns: whether the membership has changed.
    @discardableResult
    package func abandonStaging(_ subscription: UInt64) throws -> Bool {
        try requireTransaction()
        _ = try requireSubscription(subscription)
        guard isStaging(subscription) else { return false }
        let isChanged = state.members.mergeStaged(subscription)
        try run("DELETE FROM _members WHERE subscription = ? AND staged = 1", subscription)
        try setStaging(false, subscription)
        if isChanged { try noteHole(in: subscription) }
        return isChanged
    }

    /// Makes the staged membership the current one.
    ///
    /// - Returns: the former members that are no longer members in any role.
    package func finishStaging(_ subscription: UInt64) throws -> [ObjectRef] {
        try requireTransaction()
        var record = try requireSubscription(subscription)
        guard isStaging(subscription) else {
            throw StorageError(.misuse, "\(connection.name): no membership of subscription \(subscription) is staged")
        }
        var former: [ObjectRef] = []
        for classIndex in schema.classes.indices {
            var rows = state.members.rows(ofClass: classIndex, subscription: subscription, isStaged: false)
            rows.subtract(state.members.rows(ofClass: classIndex, subscription: subscription, isStaged: true))
            try rows.forEach { row in
                former.append(ObjectRef(classIndex, try tables.key(ofRow: row, in: classIndex)))
                return true
            }
        }
        try storeMembers()
        holders.noteDepartures(subscription: subscription, state.members)
        state.members.replaceByStaged(subscription)
        try run("DELETE FROM _members WHERE subscription = ? AND staged = 0", subscription)
        try run("UPDATE _members SET staged = 0 WHERE subscription = ?", subscription)
        record.hasHoles = false
        state.subscriptions[subscription] = record
        try setStaging(false, subscription)
        return former
    }

    private func setStaging(_ isStaging: Bool, _ subscription: UInt64) throws {
        state.staging[subscription] = isStaging ? true : nil
        try storeSubscription(try requireSubscription(subscription))
    }

    private func run(_ sql: String, _ subscription: UInt64) throws {
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(subscription))
            try statement.run()
        }
    }

    @discardableResult
    func requireSubscription(_ id: UInt64) throws -> SubscriptionRecord {
        guard let record = state.subscriptions[id] else {
            throw StorageError(.notFound, "\(connection.name) has no subscription \(id)")
        }
        return record
    }
}
