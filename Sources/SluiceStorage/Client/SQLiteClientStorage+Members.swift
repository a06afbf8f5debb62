package import SluiceModel
package import SluiceQuery

extension SQLiteClientStorage {
    /// Makes an object a member. It must be stored here, at least as a tombstone.
    ///
    /// - Returns: whether it was not a member in that role before.
    @discardableResult
    package func addMember(_ object: ObjectRef, role: MemberRole, to subscription: UInt64) throws -> Bool {
        try insert(object, role: role, subscription, isStaged: false)
    }

    /// Ends the membership of an object in a role.
    ///
    /// - Returns: whether it was a member in that role.
    @discardableResult
    package func removeMember(_ object: ObjectRef, role: MemberRole, from subscription: UInt64) throws -> Bool {
        try remove(object, role: role, subscription, isStaged: false)
    }

    /// Adds an object to the staged membership.
    package func stageMember(_ object: ObjectRef, role: MemberRole, in subscription: UInt64) throws {
        guard isStaging(subscription) else {
            throw StorageError(.misuse, "\(connection.name): begin staging subscription \(subscription) first")
        }
        _ = try insert(object, role: role, subscription, isStaged: true)
    }

    /// Removes an object from the staged membership.
    package func unstageMember(_ object: ObjectRef, role: MemberRole, in subscription: UInt64) throws {
        _ = try remove(object, role: role, subscription, isStaged: true)
    }

    private func insert(
        _ object: ObjectRef, role: MemberRole, _ subscription: UInt64, isStaged: Bool
    ) throws -> Bool {
        try requireTransaction()
        try requireSubscription(subscription)
        let row = try rowOfMember(object)
        let key = Memberships.Key(
            subscription: subscription, isStaged: isStaged, classIndex: object.classIndex, role: role)
        let isNew = state.members.insert(row, at: key)
        if isNew {
            isStateChanged = true
            holders.insert(CollectionOfOne(row), ofClass: object.classIndex, subscription: subscription)
        }
        return isNew
    }

    /// The local row id of an object that can be a member: it is present, or a tombstone hides it while a delete is
    /// pending. A ghost cannot be one, because its row may be deleted at any time.
    private func rowOfMember(_ object: ObjectRef) throws -> Int64 {
        let table = try tables.table(object.classIndex)
        if let row = table.recentRow(of: object.key) { return row }
        guard let found = try tables.find(object.key, in: table), found.state != TableLayout.State.ghost else {
            throw StorageError(.notFound, "\(connection.name): an object must be stored before it can be a member")
        }
        return found.row
    }

    private func remove(
        _ object: ObjectRef, role: MemberRole, _ subscription: UInt64, isStaged: Bool
    ) throws -> Bool {
        try requireTransaction()
        try requireSubscription(subscription)
        guard let row = try tables.rowID(of: object) else { return false }
        let key = Memberships.Key(
            subscription: subscription, isStaged: isStaged, classIndex: object.classIndex, role: role)
        let isRemoved = state.members.remove(row, at: key)
        if isRemoved {
            isStateChanged = true
            holders.noteDeparture(row, ofClass: object.classIndex, subscription: subscription)
        }
        return isRemoved
    }

    /// Stores the chunks that have changed.
    func storeMembers() throws {
        let changed = state.members.takeChanged()
        guard !changed.isEmpty else { return }
        let condition = "subscription = ? AND staged = ? AND class = ? AND role = ? AND chunk = ?"
        for key in changed {
            let chunk = state.members.bitmap(key.key).chunk(base: key.base)
            let sql =
                chunk == nil
                ? "DELETE FROM _members WHERE \(condition)"
                : """
                INSERT OR REPLACE INTO _members (subscription, staged, class, role, chunk, rows) \
                VALUES (?, ?, ?, ?, ?, ?)
                """
            try connection.withStatement(sql) { statement in
                statement.bind(1, Int64(key.key.subscription))
                statement.bind(2, Int64(key.key.isStaged ? 1 : 0))
                statement.bind(3, Int64(key.key.classIndex))
                statement.bind(4, Int64(key.key.role.rawValue))
                statement.bind(5, key.base)
                if let chunk { statement.bind(6, chunk.bytes) }
                try statement.run()
            }
        }
    }

    // MARK: Who holds what

    /// The subscriptions that may have a row as member or staged member, each once, by ascending id.
    func candidates(_ row: Int64, ofClass classIndex: Int) -> [UInt64] {
        let found = holders.candidates(row, ofClass: classIndex)
        lookedAtCount += found.count
        return found
    }

    /// Whether an active subscription other than `excluded` has the object as member or staged member. The cost does
    /// not depend on how many subscriptions do not have it.
    package func isHeld(_ object: ObjectRef, excluding excluded: UInt64?) throws -> Bool {
        guard let row = try tables.rowID(of: object) else { return false }
        return candidates(row, ofClass: object.classIndex).contains { id in
            id != excluded && isActive(id) && state.members.holds(row, classIndex: object.classIndex, subscription: id)
        }
    }

    /// The subscriptions, dormant ones included, that have the object as member in a role, in no particular order; nil
    /// asks for either role. The cost is that of ``isHeld(_:excluding:)``.
    package func subscriptions(having object: ObjectRef, role: MemberRole?) throws -> [UInt64] {
        guard let row = try tables.rowID(of: object) else { return [] }
        return candidates(row, ofClass: object.classIndex).filter { id in
            state.members.has(row, classIndex: object.classIndex, role: role, subscription: id)
        }
    }

    /// Whether an active subscription has an object, so that the server tells what becomes of it.
    package func isKeptCurrent(_ object: ObjectRef) throws -> Bool {
        try subscriptions(having: object, role: nil).contains(where: isActive)
    }

    /// Whether a subscription is active, and so protects its members.
    private func isActive(_ id: UInt64) -> Bool { state.subscriptions[id].map { !$0.isDormant } ?? false }

    /// The members, staged ones included, that no other active subscription has as members or staged members.
    package func exclusiveMembers(of subscription: UInt64) throws -> [ObjectRef] {
        try requireSubscription(subscription)
        var exclusive: [ObjectRef] = []
        for classIndex in schema.classes.indices {
            let rows = state.members.rows(ofClass: classIndex, subscription: subscription, isStaged: nil)
            try rows.forEach { row in
                let isShared = candidates(row, ofClass: classIndex).contains { other in
                    other != subscription && isActive(other)
                        && state.members.holds(row, classIndex: classIndex, subscription: other)
                }
                if isShared { return true }
                exclusive.append(ObjectRef(classIndex, try tables.key(ofRow: row, in: classIndex)))
                return true
            }
        }
        return exclusive
    }

    /// The present objects that match a query's predicate, whatever its sort and limit, and are not members of a
    /// subscription.
    ///
    /// - Parameter query: a query over a class, not of one object by its id.
    package func nonmembers(of subscription: UInt64, matching query: Query) throws -> [ObjectRef] {
        let rows = state.members.rows(ofClass: query.classIndex, subscription: subscription, isStaged: false)
        var nonmembers: [ObjectRef] = []
        try tables.forEachKey(matching: query) { row, key in
            if !rows.contains(row) { nonmembers.append(ObjectRef(query.classIndex, try key())) }
        }
        return nonmembers
    }

    /// The present objects of a class that no active subscription holds and that have no pending operations; none of
    /// a class that does not sync.
    package func unheldObjects(ofClass classIndex: Int) throws -> [ObjectRef] {
        if schema[classIndex].isLocal { return [] }
        var held = RowBitmap()
        for id in state.subscriptions.active {
            held.formUnion(state.members.rows(ofClass: classIndex, subscription: id, isStaged: nil))
        }
        return try tables.presentKeys(ofClass: classIndex, except: held).compactMap { key in
            let object = ObjectRef(classIndex, key)
            return try hasPending(object) ? nil : object
        }
    }
}
