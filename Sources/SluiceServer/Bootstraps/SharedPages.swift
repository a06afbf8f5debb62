internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Reads the pages that subscriptions share: each once for all who come to it while it lasts.
final class SharedPages {
    /// A page that is being read beside the writer.
    private struct Reading {
        let page: PageReading
        let run: PageRun
        /// The subscription for which it is read.
        let subscription: ViewSubscription
    }

    /// What became of a page that was read beside the writer.
    enum ReadingResult {
        case read
        /// It could not be read for this subscription; others may fare better.
        case failed(ViewSubscription, any Error)
    }

    private let database: Database
    private let turn: Turn
    var cache: PageCache
    private var unlisted: [ViewSubscription] = []
    private var readings: [ObjectIdentifier: Reading] = [:]
    /// The pages that nobody has begun to read yet.
    private var handedOut: [QueryPreparation] = []
    private(set) var counts = SharedPageCounts()

    private var limits: DatabaseLimits { database.limits }

    init(_ database: Database, _ turn: Turn) {
        self.database = database
        self.turn = turn
        let limits = database.limits
        cache = PageCache(
            byteCountMax: limits.sharedPageByteCount, idleCountMax: limits.idlePageRunCount,
            idleTime: limits.idlePageRunTime)
    }

    /// What the pages take, about, in bytes.
    var byteCount: Int { cache.byteCount }

    /// Removes and returns the subscriptions on whose behalf roots must be listed.
    func takeUnlisted() -> [ViewSubscription] {
        defer { unlisted = [] }
        return unlisted
    }

    /// The run that a subscription begins with, which it has joined then.
    ///
    /// - Parameter make: makes a bootstrap if no run can be shared.
    func run(for subscription: ViewSubscription, _ make: (LiveView) throws -> Bootstrap) rethrows -> PageRun {
        let live = subscription.view.live
        let run: PageRun
        if let known = cache.openRun(of: live.query.key), subscription.hasRoom(for: known.remaining, limits) {
            run = known
            if !run.pages.isEmpty { counts.joined += 1 }
        } else {
            var bootstrap = try make(live)
            let isAffordable = subscription.hasRoom(for: bootstrap, limits)
            if !isAffordable { bootstrap.postponeListing() }
            run = PageRun(of: live, bootstrap, isOpen: isAffordable)
            cache.add(run)
        }
        cache.join(run)
        return run
    }

    /// Has the roots of a run listed on behalf of a subscription, unless somebody waits for the list already.
    func listIfNeeded(_ run: PageRun, for subscription: ViewSubscription) {
        guard run.remaining.isUnlisted, run.lister == nil else { return }
        run.lister = subscription
        unlisted.append(subscription)
    }

    /// - Parameter others: the subscriptions of which some may wait for the list of the run's roots.
    func leave(_ run: PageRun, _ subscription: ViewSubscription, others: [ViewSubscription]) {
        cache.leave(run)
        guard run.lister === subscription else { return }
        run.lister = nil
        if let other = others.first(where: { $0.receiver?.run === run }) { listIfNeeded(run, for: other) }
    }

    /// Lets a receiver take its next page, which is read if nobody has taken it yet.
    ///
    /// - Returns: false if there is none now. Else the receiver has its page, or none if nothing is left.
    func moveOn(
        _ receiver: PageReceiver, _ subscription: ViewSubscription, others: [ViewSubscription]
    ) throws -> Bool {
        while true {
            let run = receiver.run
            guard receiver.next < run.pages.count else {
                if run.remaining.isComplete { return true }
                if beginReading(run, for: subscription) { return false }
                guard try readPage(of: run, receiver, subscription) else { return false }
                continue
            }
            switch run.pages[receiver.next].content {
            case .evicted:
                fork(receiver, subscription, others: others)
            case .stale:
                try refreshPage(of: run, receiver, subscription)
            case .encoded(let page):
                turn.note(limits.sharedPageStepCount, for: subscription.session)
                receiver.take(page)
                if !page.isEmpty || receiver.hasAll { return true }
            }
        }
    }

    // MARK: Reading beside the writer

    /// Whether another page may be read beside the writer.
    var canRead: Bool { readings.count < max(1, limits.pageReaderCount) }

    var isReading: Bool { !readings.isEmpty }

    /// Begins to read the next page of a run on behalf of a subscription.
    ///
    /// - Returns: whether the page is, or will be, read beside the writer; false if the writer must read it.
    private func beginReading(_ run: PageRun, for subscription: ViewSubscription) -> Bool {
        if run.isReading { return true }
        let live = subscription.view.live
        guard run.remaining.isUnread, limits.pageReaderCount > 0, live.linkedCount <= limits.copiedMemberCountMax
        else { return false }
        guard canRead else { return true }
        // Where none can be opened, the writer meets the reason, or does without.
        guard let snapshot = try? database.storage.snapshot() else { return false }
        let isAbandoned = database.isAbandoned
        let reading = run.beginReading(live)
        let preparation = QueryPreparation(
            .page(reading, limits), for: subscription.session, on: snapshot, stepCountMax: limits.queryStepCountMax
        ) { isAbandoned(nil) }
        readings[ObjectIdentifier(preparation)] = Reading(page: reading, run: run, subscription: subscription)
        handedOut.append(preparation)
        return true
    }

    /// Lets the page be read to which a subscription comes next, so that it is there when the client has this one.
    func readAhead(for subscription: ViewSubscription) {
        guard subscription.needsReading, subscription.subscriber.pageCredit > 0, canRead,
            let run = subscription.receiver?.run
        else { return }
        _ = beginReading(run, for: subscription)
    }

    func takeReading() -> QueryPreparation? { handedOut.isEmpty ? nil : handedOut.removeFirst() }

    /// Takes a page that was read.
    ///
    /// - Parameter others: the subscriptions of which some may wait for the page.
    /// - Returns: nil if the preparation is of another kind.
    func finish(_ preparation: QueryPreparation, others: [ViewSubscription]) -> ReadingResult? {
        guard let reading = readings.removeValue(forKey: ObjectIdentifier(preparation)) else { return nil }
        if case .failed(let error) = preparation.outcome {
            reading.run.abandonReading()
            // Who still waits for a cancelled page has it read again.
            return (error as? StorageError)?.code == .cancelled ? .read : .failed(reading.subscription, error)
        }
        reading.run.finish(reading.page)
        counts.read += reading.page.page == nil ? 0 : 1
        cache.makeRoom(after: reading.run)
        if let other = others.first(where: { $0.receiver?.run === reading.run }) {
            listIfNeeded(reading.run, for: other)
        }
        return .read
    }

    // MARK: Reading

    /// - Returns: whether the run has grown or is complete.
    private func readPage(of run: PageRun, _ receiver: PageReceiver, _ subscription: ViewSubscription) throws -> Bool {
        let count = run.pages.count
        try turn.charging(subscription.session) { work in
            let isLast = receiver.roundCount >= limits.settlingRoundMax
            let reader = reader(of: subscription, within: work, isLast: isLast)
            try run.readPage { try reader.read(&$0)[0] }
        }
        listIfNeeded(run, for: subscription)
        guard run.pages.count > count else { return run.remaining.isComplete }
        counts.read += 1
        noteRead(count, of: run, for: subscription)
        return true
    }

    private func refreshPage(
        of run: PageRun, _ receiver: PageReceiver, _ subscription: ViewSubscription
    ) throws {
        try turn.charging(subscription.session) { work in
            let reader = reader(of: subscription, within: work)
            try run.refresh(receiver.next) { try reader.read($0, $1) }
        }
        counts.readAgain += 1
        noteRead(receiver.next, of: run, for: subscription)
    }

    private func reader(
        of subscription: ViewSubscription, within work: WorkLimit, isLast: Bool = false
    ) -> PageReader {
        PageReader(
            storage: database.storage, live: subscription.view.live, limits: limits, work: work,
            stepCountMax: isLast ? .max : turn.allowance(of: subscription.session))
    }

    private func noteRead(_ page: Int, of run: PageRun, for subscription: ViewSubscription) {
        turn.note(run.pages[page].objects.count * limits.sentRowStepCount, for: subscription.session)
        cache.makeRoom(after: run)
    }

    /// Lets a receiver go on in another run, since its next page was dropped.
    private func fork(_ receiver: PageReceiver, _ subscription: ViewSubscription, others: [ViewSubscription]) {
        let old = receiver.run
        counts.forked += 1
        let (run, isNew) = old.run(from: receiver.next)
        if isNew { cache.add(run) }
        cache.join(run)
        receiver.goOn(in: run)
        leave(old, subscription, others: others)
        listIfNeeded(run, for: subscription)
    }
}
