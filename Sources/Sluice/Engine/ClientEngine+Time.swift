package import SluiceModel
internal import SluiceStorage

/// Time for queries with `$now`, see ``StoreClock``.
extension ClientEngine {
    /// When time changes what somebody observes, by this machine's clock; nil if it does not. Then ``passTime()`` is to
    /// be called.
    package var nextTick: Timestamp? { observations.nextTick }

    /// Brings what is observed to the present time.
    package func passTime() { observations.passTime() }

    /// Notes who moves the time: the server, while what it has sent is current, or else this store.
    func noteTimeSource() {
        let isOwn = !session.isActive || active.awaitsCatchUp
        guard isOwn != storage.storeClock.isOwn else { return }
        storage.storeClock.isOwn = isOwn
        storage.moveTime(to: now())
        let concerned = active.values.filter { $0.query.readsTime && $0.isComplete }
        guard !concerned.isEmpty, !observations.isEmpty else { return observations.followTime() }
        let transaction = StoreTransaction(storage, isObserved: true)
        for subscription in concerned { transaction.noteRebuild(subscription.record.id, rereads: false) }
        observations.publish(transaction, origin: isOwn ? .local : .catchUp(acceptedAt: storage.now))
    }
}
