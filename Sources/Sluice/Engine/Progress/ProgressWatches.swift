internal import SluiceModel

/// Tells those who watch transfers how far they have come, after each event. Without watchers it costs nothing.
final class ProgressWatches {
    private let session: SyncSession
    private let active: ActiveSubscriptions
    private let outbox: Outbox
    private let meter: DownloadMeter
    private var watches: [UInt64: ProgressWatch] = [:]
    private var lastNumber: UInt64 = 0

    init(_ session: SyncSession, _ active: ActiveSubscriptions, _ outbox: Outbox, _ meter: DownloadMeter) {
        self.session = session
        self.active = active
        self.outbox = outbox
        self.meter = meter
    }

    /// Begins to tell `listener`, with how things are.
    ///
    /// - Parameter query: the hash of the query that is watched alone; nil for all. It is held by somebody.
    /// - Returns: the number for ``remove(_:)``.
    func add(
        _ direction: SyncProgress.Direction, _ extent: SyncProgress.Extent, query: ObjectID? = nil,
        _ listener: EventListener<SyncProgress>
    ) -> UInt64 {
        let subscription = query.flatMap { active[query: $0] }
        let tracker: any ProgressTracker =
            switch direction {
            case .upload: UploadTracker(outbox, extent)
            case .download: DownloadTracker(session, active, extent, of: subscription)
            }
        lastNumber += 1
        let watch = ProgressWatch(
            tracker, extent, listener,
            amount: { [outbox, meter] in
                direction == .upload ? outbox.uploaded : subscription?.received ?? meter.received
            })
        if watch.report(isOver: session.standstill != nil) { watches[lastNumber] = watch }
        return lastNumber
    }

    func remove(_ number: UInt64) { watches[number] = nil }

    /// Tells what has changed since the last event.
    func report() {
        guard !watches.isEmpty else { return }
        let isOver = session.standstill != nil
        for (number, watch) in watches where !watch.report(isOver: isOver) { watches[number] = nil }
    }

    /// Tells everybody that no more will come, because the store is closed.
    func endAll() {
        for watch in watches.values { watch.end() }
        watches = [:]
    }
}

/// One that watches a transfer.
private final class ProgressWatch {
    private let tracker: any ProgressTracker
    private let extent: SyncProgress.Extent
    private let listener: EventListener<SyncProgress>
    private let amount: () -> TransferAmount
    private let firstAmount: TransferAmount
    private var last: SyncProgress?

    init(
        _ tracker: any ProgressTracker, _ extent: SyncProgress.Extent, _ listener: EventListener<SyncProgress>,
        amount: @escaping () -> TransferAmount
    ) {
        self.tracker = tracker
        self.extent = extent
        self.listener = listener
        self.amount = amount
        firstAmount = amount()
    }

    /// Tells of a change.
    ///
    /// - Parameter isOver: whether syncing has ended, so that what is outstanding stays so.
    /// - Returns: whether more may come.
    func report(isOver: Bool) -> Bool {
        let amount = amount() - firstAmount
        var estimate = tracker.estimate()
        if extent == .outstanding { estimate = max(estimate, last?.estimate ?? 0) }
        let progress = SyncProgress(rowCount: amount.rowCount, byteCount: amount.byteCount, estimate: estimate)
        if progress != last {
            last = progress
            listener.note(progress)
        }
        guard extent == .outstanding, isOver || progress.isComplete else { return true }
        end()
        return false
    }

    func end() { listener.finish() }
}
