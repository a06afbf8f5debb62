internal import SluiceModel

extension SQLiteClientStorage {
    /// Stores those rows of a batch whose objects are present here, unless they are later here, and with a role those of
    /// whose objects nothing is known, not even a ghost or a tombstone; and makes them members. Costs less for each row
    /// than storing one by one.
    ///
    /// - Parameters:
    ///   - positions: the rows of the batch to store, ascending.
    ///   - role: what the objects are from now on, in place of the other role; nil if the rows are what has changed of
    ///     objects, which leaves memberships as they are and makes no new object.
    ///   - subscriptions: the subscriptions that have them, in the staged membership while a bootstrap is staged.
    ///   - isObserved: whether to return what the rows were before, and who became a member.
    package func store(
        _ batch: RowBatch, at positions: [Int], as role: MemberRole?, of subscriptions: [UInt64], isObserved: Bool
    ) throws -> BatchOutcome {
        try requireTransaction()
        for subscription in subscriptions { try requireSubscription(subscription) }
        let table = try tables.table(batch.classIndex)
        var outcome = BatchOutcome()
        outcome.leftOut = positions
        func insert() throws {
            let candidates = outcome.leftOut
            let stored = try tables.insertUnknown(batch, at: candidates)
            outcome.leftOut = stored.leftOut
            guard !stored.rows.isEmpty else { return }
            let created = isObserved ? candidates.removing(stored.leftOut) : []
            let rows = BatchRows(batch, of: table.schema)
            outcome.created = created.map { ($0, rows.row(at: $0)) }
            guard let role else { return }
            join(created, stored.rows, batch.classIndex, role, subscriptions, areNew: true, isObserved, &outcome)
        }
        func update() throws {
            let present = try tables.updatePresent(batch, at: outcome.leftOut, isReadingOlds: isObserved)
            outcome.leftOut = present.leftOut
            outcome.updated = present.changes
            guard let role, !present.rows.isEmpty else { return }
            join(
                present.positions, present.rows, batch.classIndex, role, subscriptions, areNew: false, isObserved,
                &outcome)
        }
        guard role != nil else {
            try update()
            return outcome
        }
        // What became of the last rows says what is worth trying first.
        if table.expectsPresent {
            try update()
            table.expectsPresent = outcome.leftOut.count * 2 <= positions.count
            if !outcome.leftOut.isEmpty { try insert() }
        } else {
            try insert()
            table.expectsPresent = outcome.leftOut.count * 2 > positions.count
            if !outcome.leftOut.isEmpty { try update() }
        }
        return outcome
    }

    /// Makes rows members in a role.
    ///
    /// - Parameter areNew: whether the rows are new, so that nothing has them as members.
    private func join(
        _ positions: [Int], _ rows: [Int64], _ classIndex: Int, _ role: MemberRole, _ subscriptions: [UInt64],
        areNew: Bool, _ isObserved: Bool, _ outcome: inout BatchOutcome
    ) {
        for subscription in subscriptions {
            let isStaged = isStaging(subscription)
            let key = Memberships.Key(
                subscription: subscription, isStaged: isStaged, classIndex: classIndex, role: role)
            if !areNew {
                var other = key
                // An object has one role.
                other.role = role == .root ? .linked : .root
                for row in state.members.remove(rows, at: other) {
                    isStateChanged = true
                    holders.noteDeparture(row, ofClass: classIndex, subscription: subscription)
                }
            }
            let joined = state.members.insert(rows, at: key)
            guard !joined.isEmpty else { continue }
            isStateChanged = true
            holders.insert(joined.lazy.map { rows[$0] }, ofClass: classIndex, subscription: subscription)
            if isObserved, !isStaged { outcome.joined.append((subscription, joined.map { positions[$0] })) }
        }
    }
}

extension [Int] {
    /// The elements without some of them; both ascending.
    fileprivate func removing(_ others: [Int]) -> [Int] {
        var rest = others[...]
        return filter { element in
            guard rest.first == element else { return true }
            rest.removeFirst()
            return false
        }
    }
}
