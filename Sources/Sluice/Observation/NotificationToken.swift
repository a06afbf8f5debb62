internal import Synchronization

/// Keeps an observation alive: as long as the token exists, the store reports changes and keeps the query in sync.
///
/// Releasing the token ends the notifications and the syncing, and keeps the local data unless
/// ``StoreConfiguration/purgesWhenTokenIsReleased`` is set. All tokens of a process for the same canonical query share
/// one subscription, so syncing ends only with the last of them.
public final class NotificationToken: Sendable {
    /// What ending a token does.
    package struct Ending: Sendable {
        package var stopSyncing: Bool
        package var purgeLocal: Bool
        /// How long the query stays in sync; nil if syncing ends at once, or not at all.
        package var timeToLive: Duration?
    }

    private struct State {
        var isStopped = false
    }

    private let state = Mutex(State())
    private let gate: DeliveryGate
    private let purgesWhenReleased: Bool
    private let end: @Sendable (Ending) -> Void

    package init(gate: DeliveryGate, purgesWhenReleased: Bool, end: @escaping @Sendable (Ending) -> Void) {
        self.gate = gate
        self.purgesWhenReleased = purgesWhenReleased
        self.end = end
    }

    /// Stops the notifications. None is delivered after this returns, unless a notification's handler makes the call.
    ///
    /// The call returns when syncing has ended and the purge is on disk. Within a write, both happen after the write
    /// has ended. Calling it again does nothing.
    ///
    /// - Parameters:
    ///   - stopSyncing: whether to end the subscription. With `false` the query stays in sync until a later token for
    ///     an identical query, or ``Store/stopSyncing(_:purgeLocal:)``, ends it.
    ///   - purgeLocal: whether to remove the query's objects from this store, except those that another subscription
    ///     holds and those with changes that are not uploaded yet. A purge deletes nothing on the server. It happens
    ///     only when syncing ends, and only if no other token in this process observes an identical query.
    public func stop(stopSyncing: Bool = true, purgeLocal: Bool = true) {
        finish(Ending(stopSyncing: stopSyncing, purgeLocal: purgeLocal && stopSyncing))
    }

    /// Stops the notifications, and syncing only after a while, so that whoever observes the query again meanwhile finds
    /// it current. None is delivered after this returns, unless a notification's handler makes the call.
    ///
    /// Until then the query counts as observed: ``Store/subscriptions()`` lists it with a holder. Syncing also ends when
    /// the store is closed. Calling it again, or another `stop` after it, does nothing.
    ///
    /// - Parameters:
    ///   - timeToLive: how long the query stays in sync.
    ///   - purgeLocal: whether to remove the query's objects from this store when syncing ends, as in
    ///     ``stop(stopSyncing:purgeLocal:)``. Nothing is removed if somebody observes an identical query then.
    public func stop(syncingFor timeToLive: Duration, purgeLocal: Bool = true) {
        finish(Ending(stopSyncing: true, purgeLocal: purgeLocal, timeToLive: max(.zero, timeToLive)))
    }

    private func finish(_ ending: Ending) {
        let wasStopped = state.withLock { state in
            defer { state.isStopped = true }
            return state.isStopped
        }
        guard !wasStopped else { return }
        gate.close()
        end(ending)
    }

    deinit {
        finish(Ending(stopSyncing: true, purgeLocal: purgesWhenReleased))
    }
}

extension NotificationToken: CustomStringConvertible {
    /// Whether the token still observes.
    public var description: String {
        "NotificationToken(\(state.withLock { $0.isStopped } ? "stopped" : "observing"))"
    }
}
