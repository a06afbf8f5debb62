internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Begins a subscription with its first holder, and ends it with its last. The membership of a subscription that has
/// ended stays in the store, dormant, so that observing the query again resumes.
final class SubscriptionHolders {
    private let storage: SQLiteClientStorage
    private let transactions: StoreTransactions
    private let session: SyncSession
    private let active: ActiveSubscriptions
    private let requests: SubscriptionRequests
    private let images: ObjectImages
    private let offers: KeptObjectOffers
    private let options: ClientOptions
    private let now: () -> Timestamp
    /// Whether properties had other names before, by which queries may still be known.
    private var hasRenamedProperties = false
    /// What is held for some time after its observer has gone, by the number of the observation.
    private var lingering: [UInt64: Subscription] = [:]

    init(
        _ storage: SQLiteClientStorage, _ transactions: StoreTransactions, _ session: SyncSession,
        _ active: ActiveSubscriptions, _ requests: SubscriptionRequests, _ images: ObjectImages,
        _ offers: KeptObjectOffers,
        options: ClientOptions, now: @escaping () -> Timestamp
    ) {
        self.storage = storage
        self.transactions = transactions
        self.session = session
        self.active = active
        self.requests = requests
        self.images = images
        self.offers = offers
        self.options = options
        self.now = now
    }

    // MARK: Finding

    /// The subscription to a query that somebody holds; nil if there is none.
    subscript(query: Query) -> Subscription? { active[query: current(query).hash] }

    /// A query in the names of now; its caller may have made it before a property got another name.
    private func current(_ query: Query) -> Query {
        hasRenamedProperties && active[query: query.hash] == nil
            ? (try? query.rebound(to: storage.schema)) ?? query : query
    }

    // MARK: Beginning and ending

    /// Adds a holder to the subscription to a query. The first holder creates the subscription and requests it from the
    /// server.
    ///
    /// - Parameters:
    ///   - isLocal: whether the query is known to find only objects of a class that does not sync.
    ///   - isCached: whether the holder wants no more than what is here.
    func hold(_ query: Query, isLocal: Bool = false, isCached: Bool = false) throws -> Subscription {
        try transactions.checkNoneIsOpen()
        let query = current(query)
        let isLocal = try isLocal || findsLocalObjects(query)
        let isCached = isCached && !isLocal && options.syncs
        let hash = isCached ? Subscription.cachedHash(of: query) : query.hash
        if let subscription = active[query: hash] {
            subscription.addHolder()
            return subscription
        }
        let known = storage.subscription(toQuery: hash)
        let subscription = Subscription(
            query: query, schema: storage.schema, record: try awaken(known, query, hash), isAlone: !options.syncs,
            isLocal: isLocal, isCached: isCached,
            isRemembered: known != nil || !query.isOfOneObject(in: storage.schema), halt: session.failure)
        active.add(subscription)
        try borrowTotal(subscription)
        try requests.request(subscription)
        return subscription
    }

    /// Shows the total of a subscription of the same condition until the server has answered this one: a list that grows
    /// keeps it, also without a connection.
    private func borrowTotal(_ subscription: Subscription) throws {
        guard let figures = active.total(like: subscription), figures != subscription.record.figures else { return }
        try transactions.run(.local) { _ in
            subscription.borrow(total: figures)
            try storage.updateSubscription(subscription.record)
        }
    }

    /// Whether a query finds only objects of a class that does not sync.
    private func findsLocalObjects(_ query: Query) throws -> Bool {
        guard let id = query.object, storage.schema.hasLocalClasses else {
            return query.namesLocalClass(in: storage.schema)
        }
        return try storage.findObject(id).map { storage.schema[$0.classIndex].isLocal } ?? false
    }

    /// Stores that somebody holds the subscription to a query.
    ///
    /// - Parameters:
    ///   - known: the dormant record of the query, if there is one.
    ///   - hash: what the subscription is filed under.
    private func awaken(
        _ known: SubscriptionRecord?, _ query: Query, _ hash: ObjectID
    ) throws -> SubscriptionRecord {
        try transactions.run(.local) { _ in
            guard var dormant = known else {
                return try storage.addSubscription(
                    SubscriptionRecord(
                        id: 0, canonicalText: query.canonicalText, hash: hash, className: query.className,
                        createdAt: now(), updatedAt: now()))
            }
            dormant.isDormant = false
            // The server must confirm the members before the subscription counts as complete again.
            dormant.state = .pending
            try storage.updateSubscription(dormant)
            return dormant
        }
    }

    /// Removes one holder of a subscription. A subscription without holders ends, unless it is kept.
    ///
    /// - Parameters:
    ///   - keeping: whether the query stays in sync without holders; nil leaves that as it is.
    ///   - purging: whether the query's objects are removed from this store when syncing ends.
    func release(_ subscription: Subscription, keeping: Bool? = nil, purging: Bool = false) throws {
        subscription.removeHolder(keeping: keeping)
        try endUnlessHeld(subscription, purging: purging)
    }

    /// Leaves a holder to a subscription whose observer has gone.
    func linger(_ subscription: Subscription, as observation: UInt64) { lingering[observation] = subscription }

    /// The subscription of an observer that has gone, to be released; nil if there is none.
    func endLingering(_ observation: UInt64) -> Subscription? { lingering.removeValue(forKey: observation) }

    /// Ends the syncing of a query that is kept without holders. It does nothing while somebody observes the query.
    func stopKeeping(_ query: Query, purging: Bool) throws {
        guard let subscription = self[query] else { return }
        subscription.stopKeeping()
        try endUnlessHeld(subscription, purging: purging)
    }

    private func endUnlessHeld(_ subscription: Subscription, purging: Bool) throws {
        guard subscription.holderCount == 0, !subscription.isKept else { return }
        active.remove(subscription)
        requests.end(subscription)
        try transactions.run(.local) { transaction in
            let id = subscription.record.id
            if purging {
                for object in try storage.exclusiveMembers(of: id) where try !storage.hasPending(object) {
                    try images.evict(object, reason: .purged, transaction)
                }
                try storage.removeSubscription(id)
                return
            }
            if offers.isOn { offers.add(try storage.exclusiveMembers(of: id)) }
            guard subscription.isRemembered else { return try storage.removeSubscription(id) }
            try putToSleep(subscription.record)
            try forgetOldestDormant()
        }
    }

    // MARK: Dormant memberships

    /// Stores that nobody holds a subscription any more, in the open transaction.
    private func putToSleep(_ record: SubscriptionRecord) throws {
        var record = record
        try storage.abandonStaging(record.id)
        record.isDormant = true
        // The members stay right at the store's present version.
        if record.state == .complete {
            record.version = storage.syncState?.version ?? record.version
        } else {
            record.state = .pending
        }
        // Those of an earlier process had it until that ended, which nobody noted.
        record.updatedAt = now()
        try storage.updateSubscription(record)
    }

    /// Marks every stored subscription as dormant, because an earlier process's holders ended with it.
    func putAllToSleep() throws {
        let awake = storage.subscriptions.filter { !$0.isDormant }
        guard !awake.isEmpty else { return }
        try transactions.run(.local) { _ in for record in awake { try putToSleep(record) } }
    }

    /// Removes the records that have been dormant longest, beyond the number that is kept. Objects stay.
    private func forgetOldestDormant() throws {
        // A subscription that is not active is dormant.
        let excess = storage.subscriptionCount - active.count - options.dormantSubscriptionCountMax
        guard excess > 0 else { return }
        let dormant = storage.dormantSubscriptions
        for record in dormant.sorted(by: { ($0.updatedAt, $0.id) < ($1.updatedAt, $1.id) }).prefix(excess) {
            try storage.removeSubscription(record.id)
        }
    }

    /// Removes every object that no subscription holds and that has no pending writes.
    ///
    /// - Returns: how many objects were removed.
    func purgeUnsubscribed() throws -> Int {
        try transactions.run(.local) { transaction in
            var count = 0
            let classes = storage.schema.classes.indices
            if storage.subscriptionCount == 0, storage.outboxCount == 0, try !storage.hasBaseImages,
                storage.keptObjects.isEmpty, !storage.schema.hasLocalClasses
            {
                for classIndex in classes { count += try storage.count(ofClass: classIndex) }
                try storage.evictAll()
                return count
            }
            for classIndex in classes {
                for object in try storage.unheldObjects(ofClass: classIndex) {
                    try images.evict(object, reason: .purged, transaction)
                    count += 1
                }
            }
            return count
        }
    }

    // MARK: The schema

    /// Brings the subscriptions up to a schema that has changed, inside the transaction that changes it.
    func adapt(to changes: SchemaChanges, _ transaction: StoreTransaction) throws {
        hasRenamedProperties = hasRenamedProperties || !changes.renames.isEmpty
        active.rebind(to: storage.schema)
        for subscription in Array(active.values) { try refile(subscription) }
        guard changes.reshapes else { return }
        // Rows that are shown have other names or types now.
        for subscription in active.values { transaction.noteRebuild(subscription.record.id) }
    }

    /// Files a subscription under its query of now: a property may have another name, and so the query another text.
    private func refile(_ subscription: Subscription) throws {
        let hash = subscription.hash
        // Two queries, one by each name, may have become the same; the second stays filed as it was.
        guard hash != subscription.record.hash, active[query: hash] == nil, storage.subscription(toQuery: hash) == nil
        else { return }
        active.refile(subscription)
        try storage.updateSubscription(subscription.record)
    }

    // MARK: The server's history

    /// Makes every subscription begin from nothing, because the server's history is another one; inside a transaction.
    func forgetServer(_ transaction: StoreTransaction) throws {
        for subscription in active.values {
            try subscription.carryOut(subscription.forgetServer(), in: storage, transaction)
            transaction.noteRebuild(subscription.record.id)
        }
        for record in storage.dormantSubscriptions { try storage.removeSubscription(record.id) }
    }
}

extension Query {
    /// Whether the query has at most one result, which it names by object id or by primary key.
    fileprivate func isOfOneObject(in schema: Schema) -> Bool {
        guard object == nil else { return true }
        // A condition on the primary key comes before all others.
        guard let first = rootConditions(schema: schema).first, case .equal = first.test else { return false }
        return first.property == schema[classIndex].primaryKeyIndex
    }
}
