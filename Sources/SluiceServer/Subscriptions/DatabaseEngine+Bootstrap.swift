internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Sending subscriptions what they lack, in pages.
extension DatabaseEngine {
    /// Makes a bootstrap that begins with the view's present state. It searches for roots within a share of a turn.
    func makeBootstrap(of live: LiveView, within work: WorkLimit) throws -> Bootstrap {
        let linked = live.linkedObjects
        let query = live.query
        if let roots = live.currentRoots {
            return Bootstrap(linked: linked, roots: .listed(roots, next: 0), expectedCount: linked.count + roots.count)
        }
        // The count only serves the progress that clients show.
        let count = try work.attempting(limits.shareStepCountMax / 2) { try storage.count(matching: query) }
        let expectedCount = try linked.count + (count ?? storage.rowCountMax(ofClass: query.classIndex))
        var roots = Bootstrap.Roots.scan(after: nil)
        if !query.sort.isEmpty {
            let listed = try work.attempting(limits.shareStepCountMax) {
                try storage.roots(matching: query, after: nil)
            }
            roots = listed.map { .listed($0, next: 0) } ?? .unlisted(after: nil)
        }
        return Bootstrap(linked: linked, roots: roots, expectedCount: expectedCount)
    }

    /// Begins to send a subscription everything. It shares the pages that others are sent or were sent a moment ago.
    func beginAnew(_ subscription: ViewSubscription, within work: WorkLimit) throws {
        let live = subscription.view.live
        let known = pageCache.openRun(of: live.query.hash)
        let run: PageRun
        if let known, hasRoom(for: known.remaining, of: live, in: subscription.session) {
            run = known
            if !run.pages.isEmpty { statistics.sharedPages.joined += 1 }
        } else {
            var bootstrap = try makeBootstrap(of: live, within: work)
            let isAffordable = hasRoom(for: bootstrap, of: live, in: subscription.session)
            if !isAffordable { bootstrap.postponeListing() }
            run = PageRun(of: live, bootstrap, isOpen: isAffordable)
            pageCache.add(run)
        }
        pageCache.join(run)
        subscription.pages = .shared(PageReceiver(run))
        bootstrapping.append(subscription)
        listIfNeeded(run, for: subscription)
    }

    /// Begins to send a subscription what differs from the members that the client has listed.
    func begin(_ bootstrap: Bootstrap, of subscription: ViewSubscription) {
        var bootstrap = bootstrap
        if !hasRoom(for: bootstrap, of: subscription.view.live, in: subscription.session) {
            bootstrap.postponeListing()
        }
        subscription.pages = .own(bootstrap)
        bootstrapping.append(subscription)
        if bootstrap.isUnlisted { starting.append(.roots(subscription)) }
    }

    /// Whether a session may have another list of roots. One that does not take its pages has to wait for further
    /// lists.
    private func hasRoom(for bootstrap: Bootstrap, of live: LiveView, in session: ServerSession) -> Bool {
        live.currentRoots != nil
            || bootstrap.listedRootCount <= limits.listedRootCountMax - session.listedRootCount
    }

    /// Has the roots of a run listed on behalf of a subscription, unless somebody waits for the list already.
    private func listIfNeeded(_ run: PageRun, for subscription: ViewSubscription) {
        guard run.remaining.isUnlisted, run.lister == nil else { return }
        run.lister = subscription
        starting.append(.roots(subscription))
    }

    /// Ends the sending of pages to a subscription, which is complete or gone.
    func endPages(of subscription: ViewSubscription) {
        bootstrapping.removeAll { $0 === subscription }
        let receiver = subscription.receiver
        subscription.pages = nil
        if let receiver { leave(receiver.run, subscription) }
    }

    private func leave(_ run: PageRun, _ subscription: ViewSubscription) {
        pageCache.leave(run)
        guard run.lister === subscription else { return }
        run.lister = nil
        if let other = bootstrapping.first(where: { $0.receiver?.run === run }) { listIfNeeded(run, for: other) }
    }

    /// What the encoded pages take that clients share, about, in bytes.
    package var sharedPageByteCount: Int { pageCache.byteCount }

    /// Sends one page to each client that has credit, as far as the turn allows.
    func sendPages(now: Timestamp) {
        var sent: [ViewSubscription] = []
        var outgoing = OutgoingPages()
        for subscription in bootstrapping where subscription.canTakePage {
            guard turn.stepCountLeft > 0 else { break }
            guard turn.allowance(of: subscription.session.id) > 0 else { continue }
            sent.append(subscription)
            guardingStorage(subscription.session) { try sendPage(of: subscription, &outgoing, now: now) }
        }
        flush(&outgoing, now: now)
        // Those that got no page come first in the next turn.
        let served = Set(sent.map(ObjectIdentifier.init))
        bootstrapping.removeAll { served.contains(ObjectIdentifier($0)) }
        bootstrapping += sent.filter { $0.pages != nil && $0.session.subscriptions[$0.id] === $0 }
    }

    private func sendPage(of subscription: ViewSubscription, _ outgoing: inout OutgoingPages, now: Timestamp) throws {
        guard let receiver = subscription.receiver else {
            return try guardingQuery(of: subscription) { try sendOwnPage(of: subscription, within: $0, now: now) }
        }
        var isComplete = false
        repeat {
            guard try moveOn(receiver, subscription) else { return }
            isComplete = receiver.hasAll
            send(receiver.page, isLast: isComplete, to: subscription, &outgoing, now: now)
            receiver.page = nil
            // A view that changes faster than its pages travel would otherwise never be complete.
        } while !isComplete && receiver.roundCount >= limits.settlingRoundMax
        if isComplete {
            subscription.pages = nil
            leave(receiver.run, subscription)
        }
    }

    private func reader(
        of subscription: ViewSubscription, within work: WorkLimit, isLast: Bool = false
    ) -> PageReader {
        PageReader(
            storage: storage, live: subscription.view.live, limits: limits, work: work,
            stepCountMax: isLast ? .max : turn.allowance(of: subscription.session.id))
    }

    // MARK: Pages of one's own

    /// Sends a page of differences. The last pages also have what changed meanwhile, and say that the subscription is
    /// complete.
    private func sendOwnPage(
        of subscription: ViewSubscription, within work: WorkLimit, now: Timestamp
    ) throws {
        guard case .own(var bootstrap)? = subscription.pages else { return }
        // Moved out, so that the long list of the client's members is not copied.
        subscription.pages = nil
        defer { if !bootstrap.isComplete { subscription.pages = .own(bootstrap) } }
        let wasUnlisted = bootstrap.isUnlisted
        let isLast = bootstrap.settlingRound >= limits.settlingRoundMax - 1
        let blocks = try reader(of: subscription, within: work).read(&bootstrap, isLast: isLast)
        let rowCount = blocks.reduce(0) { $0 + $1.objects.count }
        turn.note(rowCount * limits.sentRowStepCount, for: subscription.session.id)
        if bootstrap.isUnlisted, !wasUnlisted { starting.append(.roots(subscription)) }
        guard bootstrap.isComplete || blocks.contains(where: { !$0.isEmpty }) else { return }
        send(blocks, of: subscription, bootstrap, now: now)
        if bootstrap.isComplete { subscription.session.comparedMemberCount -= bootstrap.announcedCount }
    }

    private func send(
        _ blocks: [ViewBlock], of subscription: ViewSubscription, _ bootstrap: Bootstrap, now: Timestamp
    ) {
        let session = subscription.session.id.session
        for (position, block) in blocks.enumerated() {
            var messages: [ServerMessage] = []
            if !block.isEmpty {
                let page = ServerMessage.Page(
                    session: session, subscriptions: [subscription.id], version: storage.version,
                    progress: bootstrap.isComplete ? 1 : bootstrap.progress, kind: .resumed, content: block)
                messages.append(.page(page))
                notePage(of: subscription)
            }
            if bootstrap.isComplete, position == blocks.count - 1 {
                // The digest does not cover changes that were sent again after they were first examined.
                let complete = ServerMessage.Complete(
                    session: session, subscription: subscription.id, version: storage.version,
                    acceptedAt: storage.acceptedAt ?? now,
                    kind: .resumed, digest: bootstrap.settlingRound == 0 ? bootstrap.digest?.digest : nil)
                messages.append(.complete(complete))
            }
            if !messages.isEmpty { send(messages, to: subscription.session.id) }
        }
    }

    private func notePage(of subscription: ViewSubscription) {
        statistics.sentPageCount += 1
        subscription.session.pageCredit -= min(subscription.session.pageCredit, 1)
    }

    // MARK: Shared pages

    /// Lets a receiver take its next page, which is read if nobody has taken it yet.
    ///
    /// - Returns: false if there is none now. Else the receiver has its page, or none if nothing is left.
    private func moveOn(_ receiver: PageReceiver, _ subscription: ViewSubscription) throws -> Bool {
        while true {
            let run = receiver.run
            guard receiver.next < run.pages.count else {
                if run.remaining.isComplete { return true }
                guard try readPage(of: run, receiver, subscription) else { return false }
                continue
            }
            switch run.pages[receiver.next].content {
            case .evicted:
                fork(receiver, subscription)
            case .stale:
                guard try refreshPage(of: run, receiver, subscription) else { return false }
            case .encoded(let page):
                turn.note(limits.sharedPageStepCount, for: subscription.session.id)
                receiver.take(page)
                if !page.isEmpty || receiver.hasAll { return true }
            }
        }
    }

    /// - Returns: whether the run has grown or is complete.
    private func readPage(of run: PageRun, _ receiver: PageReceiver, _ subscription: ViewSubscription) throws -> Bool {
        let count = run.pages.count
        try guardingQuery(of: subscription) { work in
            let isLast = receiver.roundCount >= limits.settlingRoundMax
            let reader = reader(of: subscription, within: work, isLast: isLast)
            try run.readPage { try reader.read(&$0)[0] }
        }
        guard subscription.pages != nil else { return false }
        listIfNeeded(run, for: subscription)
        guard run.pages.count > count else { return run.remaining.isComplete }
        statistics.sharedPages.read += 1
        noteRead(count, of: run, for: subscription)
        return true
    }

    /// - Returns: whether the page was read; false if the subscription has ended.
    private func refreshPage(
        of run: PageRun, _ receiver: PageReceiver, _ subscription: ViewSubscription
    ) throws -> Bool {
        try guardingQuery(of: subscription) { work in
            let reader = reader(of: subscription, within: work)
            try run.refresh(receiver.next) { try reader.read($0, $1) }
        }
        guard subscription.pages != nil else { return false }
        statistics.sharedPages.readAgain += 1
        noteRead(receiver.next, of: run, for: subscription)
        return true
    }

    private func noteRead(_ page: Int, of run: PageRun, for subscription: ViewSubscription) {
        turn.note(run.pages[page].objects.count * limits.sentRowStepCount, for: subscription.session.id)
        pageCache.makeRoom(after: run)
    }

    /// Lets a receiver go on in another run, since its next page was dropped.
    private func fork(_ receiver: PageReceiver, _ subscription: ViewSubscription) {
        let old = receiver.run
        statistics.sharedPages.forked += 1
        let (run, isNew) = old.run(from: receiver.next)
        if isNew { pageCache.add(run) }
        pageCache.join(run)
        receiver.goOn(in: run)
        leave(old, subscription)
        listIfNeeded(run, for: subscription)
    }

    /// Adds a page to what is sent at the end of the turn's pages, so that receivers of the same bytes share a frame.
    private func send(
        _ page: EncodedPage?, isLast: Bool, to subscription: ViewSubscription, _ outgoing: inout OutgoingPages,
        now: Timestamp
    ) {
        // The page begins the membership, so there is one even if it has no content.
        let page = page ?? EncodedPage(ViewBlock(), progress: 1)
        if outgoing.has(subscription) { flush(&outgoing, now: now) }
        outgoing.add(page, isLast: isLast, to: subscription)
        notePage(of: subscription)
    }

    private func flush(_ outgoing: inout OutgoingPages, now: Timestamp) {
        for parcel in outgoing.take() {
            let receivers = parcel.receivers.filter { sessions[$0.session.id] === $0.session }
            guard let first = receivers.first else { continue }
            let session = first.session.id.session
            var frame = FrameBuilder()
            frame.appendPage(
                session: session, subscriptions: [first.id], version: storage.version,
                progress: parcel.isLast ? 1 : parcel.page.progress, content: parcel.page.block)
            if parcel.isLast {
                let complete = ServerMessage.Complete(
                    session: session, subscription: first.id, version: storage.version,
                    acceptedAt: storage.acceptedAt ?? now, kind: .bootstrap)
                frame.append(ServerMessage.complete(complete))
            }
            let connections = receivers.map(\.session.id.connection)
            if connections.count == 1 {
                actions.append(.send(frame.finish(), to: connections[0]))
            } else {
                actions.append(.broadcast(frame.finish(), to: connections))
            }
        }
    }
}
