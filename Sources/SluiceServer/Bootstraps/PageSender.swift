internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Sends subscriptions what they lack, in pages: everything, in pages that all who ask the same query share, or what
/// differs from the members that the client has listed.
///
/// A subscription is here from its first page, or the end of the client's list, until it has all its pages. These go out
/// in order, as long as the session has credit. What commits change behind them comes at the end, after some rounds
/// without waiting for credit, and then the message that the subscription is complete.
///
/// This is the entrance of the rooms `Bootstraps` and `Pages`, with `SharedPages`, `PageRun`, `PageReceiver`,
/// `PageReader`, `RemainingPages` and `OutgoingPages`.
final class PageSender {
    private let database: Database
    private let budget: WorkBudget
    private var receiving = Receivers()
    private let readers: PageReaders
    private let shared: SharedPages
    private var unlisted: [ViewSubscription] = []
    private(set) var sentPageCount: UInt64 = 0
    /// How long it took from a request to the last page.
    private(set) var bootstraps = DurationHistogram()

    private var storage: SQLiteServerStorage { database.storage }
    private var limits: DatabaseLimits { database.limits }

    init(_ database: Database, _ budget: WorkBudget) {
        self.database = database
        self.budget = budget
        readers = PageReaders(database)
        shared = SharedPages(database, budget, readers)
    }

    var counts: SharedPageCounts { shared.counts }

    /// What the encoded pages take that clients share, about, in bytes.
    var sharedPageByteCount: Int { shared.byteCount }

    /// Whether some subscription could be sent a page now, or have one read.
    var hasWork: Bool { receiving.hasAwaited(where: canServe) }

    /// Whether some subscription is sent pages.
    var isAwaited: Bool { receiving.count > 0 }

    private func canServe(_ subscription: ViewSubscription) -> Bool {
        subscription.canTakePage && (readers.hasRoom || !subscription.needsReading(limits))
    }

    // MARK: Reading beside the writer

    /// What became of a page that was read beside the writer.
    enum ReadingResult {
        case read
        /// It could not be read for this subscription; others may fare better.
        case failed(ViewSubscription, any Error)
    }

    /// Whether pages are being read beside the writer.
    var isReading: Bool { readers.isReading }

    /// Removes and returns a page that is to be read beside the writer; nil if there is none.
    func takeReading() -> QueryPreparation? { readers.take() }

    /// Takes a page that was read beside the writer.
    ///
    /// - Returns: nil if the preparation is of another kind.
    func finish(_ preparation: QueryPreparation) -> ReadingResult? {
        guard let reading = readers.finish(preparation) else { return nil }
        budget.noteReading(preparation.stepCount, for: reading.subscription.subscriber.holder)
        var error: (any Error)?
        if case .failed(let reason) = preparation.outcome { error = reason }
        switch reading.page {
        case .shared(let run, let page):
            shared.finish(page, of: run, error, others: receiving)
            // Who still waits for a cancelled page has it read again.
            if (error as? StorageError)?.code == .cancelled { return .read }
        case .own(let run, let page):
            guard reading.subscription.run === run else { return .read }
            let wasUnlisted = run.remaining.isUnlisted
            run.finish(page)
            if run.remaining.isUnlisted, !wasUnlisted { unlisted.append(reading.subscription) }
        }
        return error.map { .failed(reading.subscription, $0) } ?? .read
    }

    /// Removes and returns the subscriptions whose roots must be listed before more pages can be read.
    func takeUnlisted() -> [ViewSubscription] {
        defer { unlisted = [] }
        return unlisted + shared.takeUnlisted()
    }

    // MARK: Beginning and ending

    /// Begins to send a subscription everything. It shares the pages that others are sent or were sent a moment ago.
    func beginAnew(_ subscription: ViewSubscription, within work: WorkLimit) throws {
        let run = try shared.run(for: subscription) { try make(of: $0, within: work) }
        subscription.become(.sharing(PageReceiver(run)))
        receiving.append(subscription)
        shared.listIfNeeded(run, for: subscription)
    }

    /// Begins to send a subscription what differs from the members that its client has listed.
    func begin(
        _ subscription: ViewSubscription, comparing known: KnownMembers, announcedCount: Int, within work: WorkLimit
    ) throws {
        let live = subscription.view.live
        var bootstrap = try make(of: live, within: work)
        bootstrap.known = known
        bootstrap.announcedCount = announcedCount
        bootstrap.digest = ViewDigest(live)
        if !subscription.hasRoom(for: bootstrap, limits) { bootstrap.postponeListing() }
        subscription.become(.comparing(DifferenceRun(bootstrap)))
        receiving.append(subscription)
        if bootstrap.isUnlisted { unlisted.append(subscription) }
    }

    /// Makes a bootstrap that begins with the view's present state. It searches for roots within a share of a turn.
    private func make(of live: LiveView, within work: WorkLimit) throws -> RemainingPages {
        let linked = live.linkedObjects
        let query = live.query
        if let roots = try live.currentRoots(in: storage) {
            return RemainingPages(
                linked: linked, roots: .listed(roots, next: 0), expectedCount: linked.count + roots.count)
        }
        // The count serves the progress that clients show, and says which results are small enough to be read at once.
        let count = try work.attempting(limits.shareStepCountMax / 2) { try storage.count(matching: query) }
        let expectedCount = try linked.count + (count ?? storage.rowCountMax(ofClass: query.classIndex))
        var roots = query.sort.isEmpty ? RemainingPages.Roots.scan(after: nil) : .unlisted(after: nil)
        if count == 0 {
            roots = .listed([], next: 0)
        } else if !query.sort.isEmpty || count ?? .max < limits.objectCountBeside {
            let listed = try work.attempting(limits.shareStepCountMax) {
                try storage.roots(matching: query, after: nil)
            }
            roots = listed.map { .listed($0, next: 0) } ?? roots
        }
        var bootstrap = RemainingPages(linked: linked, roots: roots, expectedCount: expectedCount)
        bootstrap.tellsProgress = count != nil || query.context.condition(ofClass: query.classIndex) == nil
        return bootstrap
    }

    /// Ends a subscription.
    func end(_ subscription: ViewSubscription) {
        receiving.remove(subscription)
        let receiver = subscription.receiver
        subscription.become(.ended)
        if let receiver { shared.leave(receiver.run, subscription, others: receiving) }
    }

    /// Drops the pages of a view that nobody subscribes to any more.
    func removePages(of view: SharedView) { shared.cache.removeAll(of: view.query.key) }

    /// Forgets all subscriptions and pages. Call it when the schema has changed in another way than by growing.
    func removeAll() {
        receiving.removeAll()
        shared.cache.removeAll()
    }

    // MARK: Sending

    /// Sends one page to each client that has credit, as far as the turn allows.
    ///
    /// - Returns: the frames, and the subscriptions whose pages could not be read, with the reasons.
    func sendPages(
        now: Timestamp
    ) -> (frames: [DatabaseAction], failures: [(subscription: ViewSubscription, error: any Error)]) {
        var sent: [ViewSubscription] = []
        var failures: [(subscription: ViewSubscription, error: any Error)] = []
        var frames: [DatabaseAction] = []
        var outgoing = OutgoingPages()
        readers.receiverCount = receiving.count
        for turn in receiving.turns(by: budget.clock) {
            for subscription in turn.subscriptions where canServe(subscription) {
                guard budget.allowance(of: turn.holder) > 0 else { break }
                budget.clock.serve(turn.holder)
                sent.append(subscription)
                do {
                    if let receiver = subscription.receiver {
                        try sendShared(to: subscription, receiver, &outgoing, &frames, now: now)
                    } else {
                        frames += try budget.charging(subscription.subscriber) {
                            try sendOwn(to: subscription, within: $0, now: now)
                        }
                    }
                } catch {
                    failures.append((subscription, error))
                }
            }
        }
        frames += outgoing.takeFrames(storage, now: now)
        // Now that all who waited had their turn.
        for subscription in sent { readAhead(for: subscription) }
        receiving.endTurn(of: sent)
        return (frames, failures)
    }

    private func note(_ page: EncodedPage, of subscription: ViewSubscription) {
        sentPageCount += 1
        subscription.subscriber.notePage()
        subscription.view.cost.notePage(byteCount: page.block.size)
    }

    /// Sends a subscription its next shared page.
    private func sendShared(
        to subscription: ViewSubscription, _ receiver: PageReceiver, _ outgoing: inout OutgoingPages,
        _ frames: inout [DatabaseAction], now: Timestamp
    ) throws {
        var isComplete = false
        var isFirst = true
        repeat {
            guard try shared.moveOn(receiver, subscription, others: receiving) else { return }
            isComplete = receiver.hasAll
            // The page begins the membership, so there is one even if it has no content.
            let page = receiver.page ?? EncodedPage(ViewBlock(), progress: 1)
            receiver.page = nil
            // Of one subscription's pages, each must be sent after the one before.
            if !isFirst { frames += outgoing.takeFrames(storage, now: now) }
            isFirst = false
            try outgoing.add(page, isLast: isComplete, to: subscription) {
                try page.places(subscription.view.live, in: storage, movesOthers: receiver.roundCount > 0)
            }
            note(page, of: subscription)
            // A view that changes faster than its pages travel would otherwise never be complete.
        } while !isComplete && receiver.roundCount >= limits.settlingRoundMax
        guard isComplete else { return }
        complete(subscription, now: now)
        shared.leave(receiver.run, subscription, others: receiving)
    }

    private func complete(_ subscription: ViewSubscription, now: Timestamp) {
        subscription.become(.complete)
        let time = subscription.waitingTime(until: now)
        bootstraps.note(time * 1_000)
        subscription.view.cost.noteBootstrap(took: time)
    }

    /// Sends a page of differences. The last pages also have what changed meanwhile, and say that the subscription is
    /// complete.
    private func sendOwn(
        to subscription: ViewSubscription, within work: WorkLimit, now: Timestamp
    ) throws -> [DatabaseAction] {
        guard let run = subscription.run else { return [] }
        let pages: [EncodedPage]
        if let page = run.takePage() {
            budget.note(limits.sharedPageStepCount, for: subscription.subscriber.holder)
            pages = [page]
        } else {
            guard let blocks = try read(run, for: subscription, within: work) else { return [] }
            let rowCount = blocks.reduce(0) { $0 + $1.objects.count }
            budget.note(rowCount * limits.sentRowStepCount, for: subscription.subscriber.holder)
            pages = blocks.map { EncodedPage($0, progress: run.remaining.progress) }
        }
        if run.isComplete { complete(subscription, now: now) }
        return try frames(of: pages, for: subscription, run, now: now)
    }

    /// Reads a page of differences, or begins to read it beside the writer.
    ///
    /// - Returns: nil if there is none yet.
    private func read(
        _ run: DifferenceRun, for subscription: ViewSubscription, within work: WorkLimit
    ) throws -> [ViewBlock]? {
        switch beginReading(run, for: subscription) {
        case .begun, .later: return nil
        case .impossible:
            let wasUnlisted = run.remaining.isUnlisted
            let reader = PageReader(
                storage: storage, live: subscription.view.live, limits: limits, work: work,
                stepCountMax: budget.allowance(of: subscription.subscriber.holder))
            defer { if run.remaining.isUnlisted, !wasUnlisted { unlisted.append(subscription) } }
            return try reader.read(&run.remaining, isLast: isLast(run))
        }
    }

    /// Begins to read the next page of differences beside the writer, where that is possible now.
    @discardableResult
    private func beginReading(_ run: DifferenceRun, for subscription: ViewSubscription) -> PageReaders.Beginning {
        let live = subscription.view.live
        switch readers.availability(for: live, run.remaining, isLast: isLast(run)) {
        case .later: return .later
        case .none: return .impossible
        case .free(let snapshot):
            let reading = run.beginReading(live, countMax: readers.pageCountMax, limits)
            readers.begin(.own(run, reading), for: subscription, in: snapshot)
            return .begun
        }
    }

    /// Whether the next page must bring everything that remains.
    private func isLast(_ run: DifferenceRun) -> Bool { run.remaining.settlingRound >= limits.settlingRoundMax - 1 }

    /// Lets the pages be read to which a subscription comes next, so that they are there when the client has this one.
    private func readAhead(for subscription: ViewSubscription) {
        guard subscription.subscriber.pageCredit > 0, readers.hasRoom,
            subscription.mayReadAhead(readers.pageCountMax, limits)
        else { return }
        switch subscription.state {
        case .sharing(let receiver): shared.readAhead(receiver, for: subscription)
        case .comparing(let run): beginReading(run, for: subscription)
        case .complete, .listing, .ended: break
        }
    }

    /// The frames of pages of a subscription's own, with the message that it is complete if these are its last.
    private func frames(
        of pages: [EncodedPage], for subscription: ViewSubscription, _ run: DifferenceRun, now: Timestamp
    ) throws -> [DatabaseAction] {
        let session = subscription.session.session
        let isComplete = run.isComplete
        return try pages.enumerated().compactMap { position, page in
            var frame = FrameBuilder()
            if !page.isEmpty {
                if subscription.subscriber.isLight {
                    let rows = try page.places(subscription.view.live, in: storage, movesOthers: true)
                    frame.append(
                        ServerMessage.places(.init(session: session, subscriptions: [subscription.id], rows: rows)))
                }
                frame.appendPage(
                    session: session, subscriptions: [subscription.id], version: storage.version,
                    progress: isComplete ? 1 : page.progress, kind: .resumed,
                    content: page.block)
                note(page, of: subscription)
            }
            if isComplete, position == pages.count - 1 {
                // The digest does not cover changes that were sent again after they were first examined.
                let isOfAll = run.remaining.settlingRound == 0
                let complete = ServerMessage.Complete(
                    session: session, subscription: subscription.id, version: storage.version,
                    acceptedAt: storage.acceptedAt ?? now,
                    kind: .resumed, digest: isOfAll ? run.remaining.digest?.digest : nil,
                    figures: subscription.figuresToSend())
                frame.append(ServerMessage.complete(complete))
            }
            return frame.isEmpty ? nil : .send(frame.finish(), to: subscription.session.connection)
        }
    }

    // MARK: Commits

    /// Notes the objects of a commit, whose earlier states must not be sent any more. Call it before ``note(_:of:)``.
    func note(_ commit: CommitDelta) {
        shared.cache.noteChanges(commit)
        for subscription in receiving.all {
            subscription.run?.noteChanges(commit)
        }
    }

    /// Notes how a commit has changed a view, so that those who are sent its pages get the change behind them.
    func note(_ delta: ViewDelta, of view: SharedView) {
        if !shared.cache.isEmpty {
            let query = view.live.query
            shared.cache.touch(delta, of: query.key, isRuled: !query.context.isEverything)
        }
        // Most commits meet views that are complete for all, and these may be many.
        let concerned =
            receiving.count < view.subscriptions.count
            ? receiving.all.filter { $0.view === view } : view.subscriptions.filter { $0.isIncomplete }
        guard !concerned.isEmpty else { return }
        let objects = delta.objects
        for subscription in concerned { subscription.run?.touch(objects) }
    }

    /// Notes that views include other properties now.
    func noteChangedViews() { shared.cache.noteChangedViews() }

    /// The sessions that take their pages so slowly that too much has changed behind them.
    var overloaded: [SessionID] {
        var counts: [SessionID: Int] = [:]
        for subscription in receiving.all { counts[subscription.session, default: 0] += subscription.touchedCount }
        return counts.filter { $0.value > limits.touchedObjectCountMax }.keys.sorted()
    }

    /// Frees the pages that nobody has taken for a while.
    func dropIdle(now: Timestamp) { shared.cache.dropIdle(now: now) }
}

extension ViewSubscription {
    /// Whether the session may have another list of roots. One that does not take its pages has to wait for further
    /// lists.
    func hasRoom(for bootstrap: RemainingPages, _ limits: DatabaseLimits) -> Bool {
        view.live.holdsRoots || bootstrap.listedRootCount == 0
            || bootstrap.listedRootCount <= limits.listedRootCountMax - subscriber.listedRootCount
    }
}
