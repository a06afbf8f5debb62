internal import SluiceStorage

/// Estimates how much of a transfer is done, from 0 to 1.
protocol ProgressTracker: AnyObject {
    /// The estimate after the last event.
    func estimate() -> Double
}

/// Follows uploads by the sequence numbers of their transactions.
final class UploadTracker: ProgressTracker {
    private let outbox: Outbox
    /// The last transaction that counts; nil if later ones count too.
    private let last: UInt64?
    /// The last transaction that was acknowledged before the work began.
    private var first: UInt64

    init(_ outbox: Outbox, _ extent: SyncProgress.Extent) {
        self.outbox = outbox
        first = outbox.acknowledgedSequence
        last = extent == .outstanding ? outbox.lastSequence : nil
    }

    func estimate() -> Double {
        let done = outbox.acknowledgedSequence
        let last = last ?? outbox.lastSequence
        if done >= last {
            // What comes later begins at 0 again.
            first = done
            return 1
        }
        // Only a server that has lost what it acknowledged goes back.
        first = min(first, done)
        return Double(done - first) / Double(last - first)
    }
}

/// Follows downloads by what the server says of the progress of each query.
final class DownloadTracker: ProgressTracker {
    private let session: SyncSession
    private let active: ActiveSubscriptions
    private let extent: SyncProgress.Extent
    /// The subscription that alone counts; nil if all do.
    private let only: Subscription?
    /// The subscriptions that the work consists of.
    private var work: [UInt64: Subscription] = [:]

    init(
        _ session: SyncSession, _ active: ActiveSubscriptions, _ extent: SyncProgress.Extent, of only: Subscription?
    ) {
        self.session = session
        self.active = active
        self.extent = extent
        self.only = only
        addOutstanding()
    }

    /// Whether the server has sent, in this session, what changed before it.
    private var isCurrent: Bool { session.isActive && !active.awaitsCatchUp }

    private func addOutstanding() {
        if let only {
            if !isDone(only) { work[only.record.id] = only }
        } else if isCurrent {
            for subscription in active.unsettledValues { work[subscription.record.id] = subscription }
        } else {
            for subscription in active.synced where subscription.error == nil {
                work[subscription.record.id] = subscription
            }
        }
    }

    /// Whether nothing more of a subscription is awaited: not of one that nobody holds any more, nor of one that the
    /// server is not asked for.
    private func isDone(_ subscription: Subscription) -> Bool {
        subscription.isLocal || subscription.error != nil || subscription.isComplete && isCurrent
            || active[id: subscription.record.id] !== subscription
    }

    func estimate() -> Double {
        if extent == .indefinitely { addOutstanding() }
        var done = 0.0
        var count = 0
        for subscription in work.values {
            if isDone(subscription) { count += 1 }
            // Before a subscription is complete it is not done, whatever the server has estimated.
            done += isDone(subscription) ? 1 : subscription.isComplete ? 0 : min(subscription.progress, 0.9999)
        }
        guard count < work.count else {
            if extent == .indefinitely { work = [:] }
            return 1
        }
        return min(done / Double(work.count), 0.9999)
    }
}
