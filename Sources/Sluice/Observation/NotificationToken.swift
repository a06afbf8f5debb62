internal import Synchronization

/// The observer's hold on an observation: while it lives, changes are reported and the query keeps syncing.
///
/// Letting the token go out of scope ends notifications and syncing and keeps the local data (unless the store's
/// configuration says to purge). Interests are counted by canonical query across the process, so syncing ends only
/// with the last token for an identical query.
public final class NotificationToken: Sendable {
    /// What a token does when it ends.
    package struct Ending: Sendable {
        package var stopSyncing: Bool
        package var purgeLocal: Bool
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

    /// Stops notifications; none is delivered after this has returned, unless it is called from within one.
    ///
    /// Returns when syncing has ended and the purge is on disk; called within a write, both follow when that has ended.
    /// Calling it again does nothing.
    ///
    /// - Parameters:
    ///   - stopSyncing: end the subscription. With `false` the query keeps syncing until a later identical
    ///     token, or ``Store/stopSyncing(_:purgeLocal:)``, ends it.
    ///   - purgeLocal: remove the query's objects from this store, except those that another subscription holds or that are not
    ///     uploaded yet. Never deletes anything on the server. Acts only when syncing stops, and only if nobody else in
    ///     this process observes an identical query.
    public func stop(stopSyncing: Bool = true, purgeLocal: Bool = true) {
        finish(Ending(stopSyncing: stopSyncing, purgeLocal: purgeLocal && stopSyncing))
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
    /// Whether it observes still.
    public var description: String {
        "NotificationToken(\(state.withLock { $0.isStopped } ? "stopped" : "observing"))"
    }
}
