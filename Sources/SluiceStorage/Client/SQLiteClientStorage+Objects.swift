package import SluiceModel
internal import SluiceWire

extension SQLiteClientStorage {
    /// Removes an object from this store; nothing is deleted on the server. The object's row is deleted or, if
    /// something links to it, becomes a ghost. The object leaves all memberships, and a subscription that loses a
    /// member in this way has holes (``SubscriptionRecord/hasHoles``).
    package func evict(_ object: ObjectRef) throws {
        try requireTransaction()
        guard let row = try tables.evict(object) else { return }
        try endMemberships(ofRow: row, ofClass: object.classIndex)
    }

    /// Lets an object leave all memberships, as ``evict(_:)`` does, and stay here.
    package func endMemberships(of object: ObjectRef) throws {
        try requireTransaction()
        guard let row = try tables.rowID(of: object) else { return }
        try endMemberships(ofRow: row, ofClass: object.classIndex)
    }

    private func endMemberships(ofRow row: Int64, ofClass classIndex: Int) throws {
        for id in candidates(row, ofClass: classIndex) {
            var isCurrentMember = false
            for key in state.members.keys(of: id) where key.classIndex == classIndex {
                guard state.members.remove(row, at: key) else { continue }
                isStateChanged = true
                holders.noteDeparture(row, ofClass: classIndex, subscription: id)
                if !key.isStaged { isCurrentMember = true }
            }
            if isCurrentMember { try noteHole(in: id) }
        }
    }

    /// Removes every object from this store, as ``evict(_:)`` does, at a cost that does not depend on their number.
    ///
    /// - Precondition: there is no subscription and nothing in the outbox.
    package func evictAll() throws {
        try requireTransaction()
        guard state.subscriptions.isEmpty, outboxCount == 0, state.kept.isEmpty else {
            throw StorageError(
                .misuse, "\(connection.name): everything can only go while nothing is subscribed or pending")
        }
        try tables.removeAll()
    }

    /// Notes that memberships must not be resumed by version alone (``SubscriptionRecord/hasHoles``).
    ///
    /// - Parameter current: the subscriptions whose memberships are right.
    package func noteHoles(except current: Set<UInt64>) throws {
        try requireTransaction()
        for record in state.subscriptions.all where !current.contains(record.id) { try noteHole(in: record.id) }
    }

    func noteHole(in subscription: UInt64) throws {
        guard var record = state.subscriptions[subscription], !record.hasHoles else { return }
        record.hasHoles = true
        state.subscriptions[subscription] = record
        try storeSubscription(record)
    }

    package func baseImage(of object: ObjectRef) throws -> BaseImage? { try tables.baseImage(of: object) }

    /// Whether any object has a base image.
    package var hasBaseImages: Bool {
        get throws { try connection.integer("SELECT 1 FROM _base LIMIT 1") != nil }
    }

    /// The objects that have a base image, in no particular order.
    package var objectsWithBaseImage: [ObjectRef] {
        get throws {
            try connection.withStatement("SELECT class, key FROM _base") { statement in
                var objects: [ObjectRef] = []
                while try statement.step() {
                    objects.append(try statement.object(0, in: schema, file: connection.name))
                }
                return objects
            }
        }
    }

    /// Stores or, with nil, removes the base image of an object.
    package func setBaseImage(_ image: BaseImage?, of object: ObjectRef) throws {
        try requireTransaction()
        guard let image else {
            return try connection.withStatement("DELETE FROM _base WHERE class = ? AND key = ?") { statement in
                statement.bind(1, object)
                try statement.run()
            }
        }
        let sql = "INSERT OR REPLACE INTO _base (class, key, image) VALUES (?, ?, ?)"
        try connection.withStatement(sql) { statement in
            statement.bind(1, object)
            switch image {
            case .none: statement.bind(3, [])
            case .row(let row): statement.bind(3, row.wireBytes())
            }
            try statement.run()
        }
    }
}
