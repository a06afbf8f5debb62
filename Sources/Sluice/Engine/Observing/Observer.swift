internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// One observation of a query's results. It keeps the results in memory, current, and reports their changes.
///
/// The consumer handles one event at a time. While it is busy, edits of one origin gather into one event; edits of
/// different origins never share an event.
final class Observer {
    let id: UInt64
    let subscription: Subscription
    private var results: ResultEditor
    /// The results that the consumer's type can represent.
    private var readable: ReadableResults
    /// For a query with stages, everything that matches; else nil.
    private var pool: ResultPool?
    /// Which of the results are in memory; nil for a query all of whose results always are.
    private var window: HeldWindow?
    private let deliver: (ResultEvent) -> Void
    /// Tells the consumer that no more events will come.
    let end: () -> Void
    /// Whether the consumer has an event that it has not handled.
    private(set) var isBusy = false
    private var backlog = Backlog()
    private var reportedStatus: SubscriptionStatus?
    /// What the query computes, as it belongs to ``results``.
    private var figures = ShownFigures()
    private var reportedFigures = ShownFigures()
    /// Whether the consumer has handled an event with the state ``SubscriptionState/complete``, and none after it with
    /// another state.
    private(set) var hasHandledComplete = false
    /// Whether the consumer is called on a thread of the store's own, where nothing but its handler delays an event.
    let isPrompt: Bool
    /// Whether the results are what the server says.
    private let freshness: () -> Freshness
    /// Why no more events come; nil while they do.
    private var failure: Failure?

    private enum Failure {
        /// The consumer has not handled the last event yet.
        case waiting(SyncError)
        case told
    }

    init(
        id: UInt64, subscription: Subscription, schema: Schema, windowSurplus: Int?, readability: Readability?,
        reportsPending: Bool, isPrompt: Bool, freshness: @escaping () -> Freshness, end: @escaping () -> Void,
        deliver: @escaping (ResultEvent) -> Void
    ) {
        self.isPrompt = isPrompt
        self.freshness = freshness
        self.id = id
        self.subscription = subscription
        self.end = end
        self.deliver = deliver
        let ignored = subscription.query.exclusions.excludedRootProperties
        results = ResultEditor(
            ResultList(
                schema: schema, order: SortOrder(subscription.query.sort), limit: subscription.query.limit),
            ignoring: ignored, reportsPending: reportsPending)
        readable = ReadableResults(readability, ignoring: ignored, reportsPending: reportsPending)
        pool = ResultPool(subscription.query)
        window = HeldWindow(subscription.query, surplus: windowSurplus)
    }

    /// Whether the object may be among the results in memory.
    func mayContain(_ object: ObjectRef) -> Bool {
        pool?.contains(object) ?? results.contains(object) || !backlog.isEmpty
    }

    /// Whether the results in memory may have the values of a schema before.
    private(set) var hasOldRows = false

    /// Goes on with a schema that has changed.
    func adopt(_ schema: Schema) {
        hasOldRows = true
        results.adopt(schema)
        readable.adopt(schema)
    }

    /// Notes that the values of the present schema are on their way.
    func willRenewRows() { hasOldRows = false }

    /// The number of results in memory, including those beyond the limit, after the edits that wait; nil where stages
    /// choose among more than them. O(edits that wait).
    var heldCount: Int? {
        guard pool == nil else { return nil }
        var count = results.count
        for object in Set(backlog.objects) {
            count += (holds(object) ? 1 : 0) - (results.contains(object) ? 1 : 0)
        }
        return count
    }

    /// Whether an object is among the results in memory, after the edits that wait.
    func holds(_ object: ObjectRef) -> Bool { backlog.isHeld(object, if: results.contains(object)) }

    /// Whether an edit with this entry would change nothing, after those that wait.
    func isUpToDate(_ entry: ResultEntry) -> Bool {
        guard pool == nil else { return false }
        switch backlog.lastEdit(of: entry.object) {
        case nil, .touch: return results.holds(entry)
        case .upsert(let last): return last.isSame(as: entry)
        case .remove: return false
        }
    }

    /// Every object in memory, including those beyond the limit.
    var objects: [ObjectRef] {
        (pool.map { Array($0.objects) } ?? results.list.entries.map(\.object)) + backlog.objects
    }

    /// Whether an object is in memory, or an edit of it waits.
    func concerns(_ object: ObjectRef) -> Bool { results.contains(object) || backlog.lastEdit(of: object) != nil }

    /// Whether an object may be in memory after the edits that wait.
    func mayHold(_ object: ObjectRef) -> Bool { pool != nil || holds(object) }

    /// The number of results in memory, including those beyond the limit.
    var resultCount: Int { pool?.objects.count ?? results.count }

    /// The number of edits that wait for the consumer.
    var waitingEditCount: Int { backlog.editCount }

    // MARK: The window

    /// How many results are held at least, where the first can be read without the others; nil for all.
    var capacity: Int? { window?.capacity }

    /// Whether a result at a position is not held, because enough come before it.
    func isBeyondWindow(_ position: SortPosition) -> Bool { window?.excludes(position) ?? false }

    /// Whether edits of different objects leave fewer results in memory than are to be shown, and the store has others.
    /// O(edits), and O(edits that wait) if they take more away than they bring.
    func isExhausted(by edits: [ResultEdit]) -> Bool {
        guard let window, window.hasOthers else { return false }
        var growth = 0
        for edit in edits {
            switch edit {
            case .upsert(let entry): if !holds(entry.object) { growth += 1 }
            case .remove(let object, _): if holds(object) { growth -= 1 }
            case .touch: break
            }
        }
        guard growth < 0, let heldCount else { return false }
        return window.isExhausted(with: heldCount + growth)
    }

    /// Notes that the results are read again because the window was exhausted.
    func widenWindow() { window?.widen() }

    /// Notes which results are in memory once the edits that were made from a reading are.
    func hold(_ extent: HeldExtent) { window?.hold(extent) }

    // MARK: Events

    /// Reports the present results as the first event.
    ///
    /// - Parameter figures: what the query computes, as it belongs to them.
    func start(with entries: [ResultEntry], figures: ShownFigures) {
        self.figures = figures
        let before = results.list
        let entries = pool?.replace(with: entries) ?? entries
        let change = results.replace(with: entries, reason: .unknown)
        let step = readable.follow(entries.lazy.map { .upsert($0) }, change, from: before, to: results)
        report(step, remote: nil, isInitial: true)
    }

    /// Whether no more events come, because the results could not be read.
    var isOver: Bool { failure != nil }

    /// Reports that the results can no longer be read. This event comes after those that wait, and is the last.
    func fail(_ error: SyncError) {
        guard failure == nil else { return }
        failure = .waiting(error)
        if !isBusy { reportFailure() }
    }

    private func reportFailure() {
        guard case .waiting(let error) = failure else { return }
        failure = .told
        isBusy = true
        let step = readable.follow([ResultEdit](), ResultChange(), from: results.list, to: results)
        deliver(
            ResultEvent(
                list: step.list, change: step.change, removed: step.removed,
                unreadable: readable.unreadable, changesUnreadable: step.changesUnreadable,
                status: SubscriptionStatus(state: .error, error: error), total: shownFigures.total,
                groups: shownFigures.groups, changesFigures: false,
                remote: nil, isInitial: false, freshness: .cached(since: subscription.confirmedUntil?.date)))
    }

    /// Receives edits, and reports them at once or when the consumer is ready.
    ///
    /// - Parameter figures: what the query computes after them.
    func receive(_ edits: [ResultEdit], figures: ShownFigures, origin: ChangeOrigin, now: Timestamp) {
        guard !isOver else { return }
        let last = backlog.lastFigures ?? self.figures
        guard !edits.isEmpty || subscription.status != reportedStatus || figures != last else { return }
        if isBusy {
            backlog.append(edits, figures: figures, origin: origin)
            if backlog.isLong { condenseBacklog() }
        } else {
            apply(edits, figures: figures, origin: origin, now: now)
        }
    }

    /// Drops edits that wait and that no event needs, so that they are about as many as the results in memory.
    private func condenseBacklog() {
        var beyond: Set<ObjectRef> = []
        if let heldCount, window?.isExceeded(by: heldCount) ?? false {
            beyond = Set(window?.trimmed(entriesToCome).map(\.object) ?? [])
        }
        backlog.condense(without: beyond) { pool?.contains($0) ?? results.contains($0) }
    }

    /// The results in memory after the edits that wait, in any order.
    private var entriesToCome: [ResultEntry] {
        let kept = results.list.entries.filter { entry in
            switch backlog.lastEdit(of: entry.object) {
            case nil, .touch: true
            case .upsert, .remove: false
            }
        }
        return kept
            + Set(backlog.objects).compactMap { object in
                guard case .upsert(let entry) = backlog.lastEdit(of: object) else { return nil }
                return entry
            }
    }

    /// Records that the consumer has handled the last event.
    func consumerIsReady(now: Timestamp) {
        isBusy = false
        hasHandledComplete = reportedStatus?.state == .complete
        while !isBusy, let next = backlog.removeFirst() {
            apply(next.edits.all, figures: next.figures, origin: next.origin, now: now)
        }
        if !isBusy { reportFailure() }
    }

    /// Applies edits, and reports the change if there is one.
    private func apply(_ edits: [ResultEdit], figures: ShownFigures, origin: ChangeOrigin, now: Timestamp) {
        let before = results.list
        self.figures = figures
        let edits = pool?.apply(edits, to: results) ?? edits
        let change = results.apply(edits)
        if backlog.isEmpty { window?.trim(&results) }
        let step = readable.follow(edits, change, from: before, to: results)
        let isChanged = !step.change.isEmpty || step.changesUnreadable || shownFigures != reportedFigures
        guard isChanged || subscription.status != reportedStatus else { return }
        var remote: Remote?
        // An event that only reports a new state has no author.
        if isChanged, case .remote(let authors) = origin {
            remote = Remote(authors: authors, receivedAt: now.date)
        }
        report(step, remote: remote, isInitial: false)
    }

    /// What is computed, as it is shown beside the results.
    private var shownFigures: ShownFigures {
        var shown = figures
        let query = subscription.query
        shown.total =
            query.hasTotal
            ? figures.total?.beside(
                query.countsMatches ? results.list.visibleCount : results.count, isOfResults: !query.countsMatches)
            : nil
        return shown
    }

    private func report(_ step: ReadableResults.Step, remote: Remote?, isInitial: Bool) {
        let status = subscription.status
        reportedStatus = status
        let figures = shownFigures
        defer { reportedFigures = figures }
        isBusy = true
        if status.state != .complete { hasHandledComplete = false }
        deliver(
            ResultEvent(
                list: step.list, change: step.change, removed: step.removed,
                unreadable: readable.unreadable, changesUnreadable: step.changesUnreadable, status: status,
                total: figures.total, groups: figures.groups, changesFigures: figures != reportedFigures,
                remote: remote, isInitial: isInitial,
                freshness: freshness()))
    }
}
