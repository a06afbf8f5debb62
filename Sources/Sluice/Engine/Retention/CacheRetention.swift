internal import SluiceModel
internal import SluiceStorage

/// Keeps cached objects within the limits of their age and their size.
///
/// An object is as old as the last subscription that held it: the record of one that has ended stays, dormant, with the
/// time of its end. Of an object that no subscription has held, the store notes when it was first found cached.
final class CacheRetention {
    private struct Cached {
        let object: ObjectRef
        let since: Timestamp
    }

    private let storage: SQLiteClientStorage
    private let transactions: StoreTransactions
    private let active: ActiveSubscriptions
    private let images: ObjectImages
    private let limits: CacheLimits
    private let now: () -> Timestamp

    init(
        _ storage: SQLiteClientStorage, _ transactions: StoreTransactions, _ active: ActiveSubscriptions,
        _ images: ObjectImages, options: ClientOptions, now: @escaping () -> Timestamp
    ) {
        self.storage = storage
        self.transactions = transactions
        self.active = active
        self.images = images
        limits = options.cacheLimits
        self.now = now
    }

    /// Removes what is beyond the limits. O(n log n) in the number of cached objects; with a limit of bytes it reads
    /// them.
    ///
    /// - Returns: how many objects were removed.
    func sweep() throws -> Int {
        guard !limits.areNone, storage.obstacle == nil, !storage.isInTransaction else { return 0 }
        let time = now()
        return try transactions.run(.local) { transaction in
            var cached = try cachedObjects(at: time)
            var removed: [ObjectRef] = []
            if let oldest = limits.ageMax.map({
                Timestamp(microseconds: time.microseconds - Int64(min($0 / .microseconds(1), 4e18)))
            }) {
                removed = cached.filter { $0.since < oldest }.map(\.object)
                cached.removeAll { $0.since < oldest }
                for record in storage.dormantSubscriptions where record.updatedAt < oldest {
                    try storage.removeSubscription(record.id)
                }
            }
            if let byteCountMax = limits.byteCountMax { removed += try excess(of: cached, over: byteCountMax) }
            for object in removed {
                try images.evict(object, reason: .expired, transaction)
                try storage.setCachedSince(nil, of: object)
            }
            return removed.count
        }
    }

    /// The cached objects, and since when they are.
    private func cachedObjects(at time: Timestamp) throws -> [Cached] {
        let ended = Dictionary(uniqueKeysWithValues: storage.dormantSubscriptions.map { ($0.id, $0.updatedAt) })
        let shown = try shownObjects()
        var noted = try storage.cachedSince
        var cached: [Cached] = []
        for classIndex in storage.schema.classes.indices {
            for object in try storage.unheldObjects(ofClass: classIndex) where !shown.contains(object) {
                if let last = try storage.subscriptions(having: object, role: nil).compactMap({ ended[$0] }).max() {
                    cached.append(Cached(object: object, since: last))
                } else if let since = noted.removeValue(forKey: object) {
                    cached.append(Cached(object: object, since: since))
                } else {
                    cached.append(Cached(object: object, since: time))
                    try storage.setCachedSince(time, of: object)
                }
            }
        }
        // The rest is held again, or gone.
        for object in noted.keys { try storage.setCachedSince(nil, of: object) }
        return cached
    }

    /// What observed queries show although no subscription holds it yet: they are not complete.
    private func shownObjects() throws -> Set<ObjectRef> {
        var shown: Set<ObjectRef> = []
        for subscription in active.values where !subscription.record.isInForce {
            let reader = ResultReader(subscription.judge, in: storage, subscription: subscription.record)
            try reader.forEachResult { object, _ in shown.insert(object) }
        }
        return shown
    }

    /// The oldest objects, of which the rest takes no more bytes than a number.
    private func excess(of cached: [Cached], over byteCountMax: Int) throws -> [ObjectRef] {
        var sizes: [(cached: Cached, byteCount: Int)] = []
        for object in cached { sizes.append((object, try storage.row(object.object)?.dataSize.byteCount ?? 0)) }
        var byteCount = sizes.reduce(0) { $0 + $1.byteCount }
        guard byteCount > byteCountMax else { return [] }
        sizes.sort { ($0.cached.since, $0.cached.object) < ($1.cached.since, $1.cached.object) }
        var excess: [ObjectRef] = []
        for (object, size) in sizes where byteCount > byteCountMax {
            excess.append(object.object)
            byteCount -= size
        }
        return excess
    }
}
