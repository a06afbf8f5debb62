internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Reads the pages that subscriptions share: each once for all who come to it while it lasts.
final class SharedPages {
    private let database: Database
    private let budget: WorkBudget
    var cache: PageCache
    private let readers: PageReaders
    private var unlisted: [ViewSubscription] = []
    private(set) var counts = SharedPageCounts()

    private var limits: DatabaseLimits { database.limits }

    init(_ database: Database, _ budget: WorkBudget, _ readers: PageReaders) {
        self.database = database
        self.budget = budget
        self.readers = readers
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
    func run(for subscription: ViewSubscription, _ make: (LiveView) throws -> RemainingPages) rethrows -> PageRun {
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

    /// Has the roots of a run listed on behalf of one of those who wait for its pages.
    private func listIfNeeded(_ run: PageRun, others: Receivers) {
        guard run.remaining.isUnlisted, run.lister == nil else { return }
        if let other = others.all.first(where: { $0.receiver?.run === run }) { listIfNeeded(run, for: other) }
    }

    /// - Parameter others: the subscriptions of which some may wait for the list of the run's roots.
    func leave(_ run: PageRun, _ subscription: ViewSubscription, others: Receivers) {
        cache.leave(run)
        guard run.lister === subscription else { return }
        run.lister = nil
        listIfNeeded(run, others: others)
    }

    /// Lets a receiver take its next page, which is read if nobody has taken it yet.
    ///
    /// - Returns: false if there is none now. Else the receiver has its page, or none if nothing is left.
    func moveOn(
        _ receiver: PageReceiver, _ subscription: ViewSubscription, others: Receivers
    ) throws -> Bool {
        while true {
            let run = receiver.run
            guard receiver.next < run.pages.count else {
                if run.remaining.isComplete { return true }
                if beginReading(run, for: subscription, isLast: isLast(receiver)) { return false }
                guard try readPage(of: run, receiver, subscription) else { return false }
                continue
            }
            switch run.pages[receiver.next].content {
            case .evicted:
                fork(receiver, subscription, others: others)
            case .stale:
                try refreshPage(of: run, receiver, subscription)
            case .encoded(let page):
                budget.note(limits.sharedPageStepCount, for: subscription.subscriber.holder)
                receiver.take(page)
                if !page.isEmpty || receiver.hasAll { return true }
            }
        }
    }

    // MARK: Reading beside the writer

    /// Begins to read the next page of a run on behalf of a subscription.
    ///
    /// - Parameter isLast: whether the page must bring everything that remains.
    /// - Returns: whether the page is, or will be, read beside the writer; false if the writer must read it.
    @discardableResult
    private func beginReading(_ run: PageRun, for subscription: ViewSubscription, isLast: Bool) -> Bool {
        if run.isReading { return true }
        let live = subscription.view.live
        switch readers.availability(for: live, run.remaining, isLast: isLast) {
        case .none: return false
        case .later: return true
        case .free(let snapshot):
            let reading = run.beginReading(live, countMax: readers.pageCountMax, limits)
            readers.begin(.shared(run, reading), for: subscription, in: snapshot)
            return true
        }
    }

    /// Whether the next page that is read for a receiver must bring everything. A view that changes faster than its
    /// pages travel would otherwise never be complete.
    private func isLast(_ receiver: PageReceiver) -> Bool { receiver.roundCount >= limits.settlingRoundMax }

    /// Lets the page be read to which a receiver comes next, so that it is there when the client has this one.
    func readAhead(_ receiver: PageReceiver, for subscription: ViewSubscription) {
        beginReading(receiver.run, for: subscription, isLast: isLast(receiver))
    }

    /// Takes a page that was read.
    ///
    /// - Parameters:
    ///   - error: why it could not be read.
    ///   - others: the subscriptions of which some may wait for the page.
    func finish(_ reading: PageReading, of run: PageRun, _ error: (any Error)?, others: Receivers) {
        guard error == nil else { return run.abandonReading() }
        run.finish(reading)
        counts.read += UInt64(reading.pages.count)
        cache.makeRoom(after: run)
        listIfNeeded(run, others: others)
    }

    // MARK: Reading

    /// - Returns: whether the run has grown or is complete.
    private func readPage(of run: PageRun, _ receiver: PageReceiver, _ subscription: ViewSubscription) throws -> Bool {
        let count = run.pages.count
        try budget.charging(subscription.subscriber) { work in
            let reader = reader(of: subscription, within: work, isLast: isLast(receiver))
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
        try budget.charging(subscription.subscriber) { work in
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
            stepCountMax: isLast ? .max : budget.allowance(of: subscription.subscriber.holder))
    }

    private func noteRead(_ page: Int, of run: PageRun, for subscription: ViewSubscription) {
        budget.note(run.pages[page].objects.count * limits.sentRowStepCount, for: subscription.subscriber.holder)
        cache.makeRoom(after: run)
    }

    /// Lets a receiver go on in another run, since its next page was dropped.
    private func fork(_ receiver: PageReceiver, _ subscription: ViewSubscription, others: Receivers) {
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
