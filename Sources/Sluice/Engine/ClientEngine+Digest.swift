internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension ClientEngine {
    /// The digest of a subscription's objects as the server should have them, which is without pending writes.
    ///
    /// - Returns: nil if the subscription has no digest, or if some of its data is not here.
    func digest(of subscription: Subscription) throws -> ObjectID? {
        guard let map = session.map, let query = try? subscription.query.rebound(to: session.serverSchema),
            var digest = ViewDigest(query, schema: session.serverSchema)
        else { return nil }
        for role in MemberRole.allCases {
            var isHere = true
            try storage.forEachMember(of: subscription.record.id, role: role) { object in
                guard let reference = map.toServer(object), let row = try serverImage(of: object),
                    let translated = translate(
                        row, to: reference, digest.properties(ofClass: reference.classIndex), map)
                else {
                    isHere = false
                    return false
                }
                digest.add(translated, of: reference.classIndex, isRoot: role == .root)
                return true
            }
            guard isHere else { return nil }
        }
        return digest.digest
    }

    private func serverImage(of object: ObjectRef) throws -> Row? {
        guard try unconfirmed.contains(object) || storage.hasPending(object) else { return try storage.row(object) }
        return if case .row(let row)? = try storage.baseImage(of: object) { row } else { nil }
    }

    /// The given properties of a row at the server's positions; nil if one of them is not here.
    private func translate(
        _ row: Row, to reference: ObjectRef, _ properties: PropertySet, _ map: SchemaMap
    ) -> Row? {
        guard let positions = map.properties(fromServer: properties, ofClass: reference.classIndex) else { return nil }
        let declared = session.serverSchema[reference.classIndex].properties
        var translated = Row(key: row.key, values: [Value](repeating: .null, count: declared.count))
        for (property, position) in zip(properties, positions) {
            guard !row.absent.contains(position) else { return nil }
            let value = row.values[position]
            translated.values[property] = declared[property].type.narrowing(value) ?? value
        }
        return translated
    }

    /// Compares subscriptions that have just become complete with the server's digests. If one differs, it is fetched
    /// anew.
    func check(_ messages: [ServerMessage]) throws {
        for case .complete(let complete) in messages where storage.syncState?.version == complete.version {
            guard let expected = complete.digest else { continue }
            try compare(complete.subscription, with: expected, at: complete.version)
        }
    }

    /// Compares a subscription of the running session with the server's digest. If it differs, it is fetched anew.
    ///
    /// The versions need not be equal, since the server has already sent all changes of the subscription up to the
    /// digest.
    func check(_ check: ServerMessage.DigestCheck) throws {
        guard !session.awaitsCatchUp, session.parts.isEmpty else { return }
        try compare(check.subscription, with: check.digest, at: check.version)
    }

    private func compare(_ wireID: UInt64, with expected: ObjectID, at version: UInt64) throws {
        guard let subscription = session.subscribed[wireID], subscription.wireID == wireID, subscription.isComplete,
            !subscription.record.hasHoles, let actual = try digest(of: subscription)
        else { return }
        checkCount += 1
        guard actual != expected else { return }
        mismatchCount += 1
        log?(
            .warning, "a subscription differs from the server's and is fetched anew",
            [("query", subscription.query.hash.description), ("version", "\(version)")])
        try fetchAnew(subscription, wireID)
    }

    private func fetchAnew(_ subscription: Subscription, _ wireID: UInt64) throws {
        try demote(subscription, to: .pending)
        subscription.record.version = 0
        let message = try subscribeMessage(subscription)
        send([.unsubscribe(session: SyncSession.number, subscription: wireID), message])
        notifyWaiters(of: subscription)
    }
}
