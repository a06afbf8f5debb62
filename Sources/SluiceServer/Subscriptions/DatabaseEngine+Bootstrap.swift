internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

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

    /// Adds a bootstrap to those that are sent in pages.
    func begin(_ bootstrap: Bootstrap, of subscription: ViewSubscription) {
        var bootstrap = bootstrap
        if case .listed(let roots, _) = bootstrap.roots {
            let room = limits.listedRootCountMax - subscription.session.listedRootCount
            // A session that does not take its pages has to wait for further lists.
            if roots.count > room, subscription.view.live.currentRoots == nil {
                bootstrap.roots = .unlisted(after: nil)
            } else {
                subscription.listedRootCount = roots.count
            }
        }
        subscription.bootstrap = bootstrap
        bootstrapping.append(subscription)
        if bootstrap.isUnlisted { starting.append(.roots(subscription)) }
    }

    /// Sends one page to each client that has credit, as far as the turn allows.
    func sendPages(now: Timestamp) {
        var sent: [ViewSubscription] = []
        for subscription in bootstrapping where subscription.canTakePage {
            guard turn.stepCountLeft > 0 else { break }
            guard turn.allowance(of: subscription.session.id) > 0 else { continue }
            sent.append(subscription)
            guardingStorage(subscription.session) {
                try guardingQuery(of: subscription) { try sendPage(of: subscription, within: $0, now: now) }
            }
        }
        // Those that got no page come first in the next turn.
        bootstrapping.removeAll { subscription in sent.contains { $0 === subscription } }
        bootstrapping += sent.filter { $0.bootstrap != nil && $0.session.subscriptions[$0.id] === $0 }
    }

    /// Sends one page. The last pages also have what changed meanwhile, and say that the subscription is complete.
    private func sendPage(of subscription: ViewSubscription, within work: WorkLimit, now: Timestamp) throws {
        pageStepCountMax = turn.allowance(of: subscription.session.id)
        pageWork = work
        defer { pageWork = nil }
        guard var bootstrap = subscription.bootstrap else { return }
        // Moved out, so that the long list of the client's members is not copied.
        subscription.bootstrap = nil
        defer { if !bootstrap.isComplete { subscription.bootstrap = bootstrap } }
        let live = subscription.view.live
        let wasUnlisted = bootstrap.isUnlisted
        var builder = ViewBlockBuilder(schema: storage.schema, limits: limits.data)
        try addLinked(&bootstrap, live, to: &builder)
        if bootstrap.linked.isEmpty, !isFull(builder) { try addRoots(&bootstrap, live, to: &builder) }
        if case .done = bootstrap.roots { try addLeaving(&bootstrap, live, to: &builder) }
        if bootstrap.isSent {
            subscription.session.touchedObjectCount -= beginSettling(&bootstrap)
            try addTouched(&bootstrap, live, in: &builder)
        }
        let rowCount = builder.blocks.reduce(0) { $0 + $1.objects.count }
        turn.note(rowCount * limits.sentRowStepCount, for: subscription.session.id)
        if bootstrap.isUnlisted, !wasUnlisted { starting.append(.roots(subscription)) }
        guard bootstrap.isComplete || rowCount > 0 || builder.blocks.contains(where: { !$0.isEmpty }) else { return }
        send(builder.blocks, of: subscription, bootstrap, now: now)
        if bootstrap.isComplete { subscription.session.comparedMemberCount -= bootstrap.announcedCount }
    }

    /// Whether the page takes no more objects, because of its size or because of the work for it.
    private func isFull(_ builder: ViewBlockBuilder) -> Bool {
        builder.lastBlockSize >= limits.pageByteCount || (pageWork?.stepCount ?? 0) >= pageStepCountMax
    }

    private func send(
        _ blocks: [ViewBlock], of subscription: ViewSubscription, _ bootstrap: Bootstrap, now: Timestamp
    ) {
        let session = subscription.session.id.session
        for (position, block) in blocks.enumerated() {
            var messages: [ServerMessage] = []
            // Only the first kind of bootstrap needs a page without content, since the page begins the membership.
            if bootstrap.kind == .bootstrap || !block.isEmpty {
                let page = ServerMessage.Page(
                    session: session, subscriptions: [subscription.id], version: storage.version,
                    progress: bootstrap.isComplete ? 1 : bootstrap.progress, kind: bootstrap.kind, content: block)
                messages.append(.page(page))
                statistics.sentPageCount += 1
                subscription.session.pageCredit -= min(subscription.session.pageCredit, 1)
            }
            if bootstrap.isComplete, position == blocks.count - 1 {
                // The digest does not cover changes that were sent again after they were first examined.
                let complete = ServerMessage.Complete(
                    session: session, subscription: subscription.id, version: storage.version,
                    acceptedAt: storage.acceptedAt ?? now,
                    kind: bootstrap.kind, digest: bootstrap.settlingRound == 0 ? bootstrap.digest?.digest : nil)
                messages.append(.complete(complete))
            }
            if !messages.isEmpty { send(messages, to: subscription.session.id) }
        }
    }

    private func addLinked(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        var room = limits.pageRowCount
        while room > 0, !isFull(builder), let object = bootstrap.linked.popLast() {
            room -= 1
            bootstrap.sentCount += 1
            guard let member = try live.member(object, in: storage), member.role == .linked,
                let row = try storage.row(object)
            else { continue }
            try add(row, of: object, member, &bootstrap, live, to: &builder)
        }
    }

    /// Adds a member, unless the client has it at this version.
    private func add(
        _ row: Row, of object: ObjectRef, _ member: ViewMember, _ bootstrap: inout Bootstrap, _ live: LiveView,
        to builder: inout ViewBlockBuilder
    ) throws {
        let isRoot = member.role == .root
        if let count = bootstrap.digest?.count, count < limits.digestObjectCountMax {
            bootstrap.digest?.add(row, of: object.classIndex, isRoot: isRoot)
        } else {
            bootstrap.digest = nil
        }
        let isKnown = bootstrap.known?.remove(object, isRoot: isRoot, version: row.version) ?? false
        if isKnown, live.includesAlike(object.classIndex) { return }
        try builder.add(row, of: object.classIndex, properties: member.included, role: isRoot ? .root : .linked)
    }

    private func addRoots(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        switch bootstrap.roots {
        case .done, .unlisted:
            return
        case .scan(let cursor):
            let classIndex = live.query.classIndex
            let page = try pageWork?.attempting(max(1, pageStepCountMax - (pageWork?.stepCount ?? 0))) {
                try storage.rows(
                    matching: live.query, after: cursor, limit: limits.pageRowCount,
                    byteCountMax: limits.pageByteCount - builder.lastBlockSize)
            }
            guard let page else {
                // With less than its full share in this turn, the session may succeed in its next turn.
                if pageStepCountMax >= limits.shareStepCountMax, builder.blocks[0].isEmpty {
                    bootstrap.roots = .unlisted(after: cursor)
                }
                return
            }
            for row in page.rows {
                let object = ObjectRef(classIndex, row.key)
                let member = ViewMember(role: .root, included: live.includedOfRoot(object))
                try add(row, of: object, member, &bootstrap, live, to: &builder)
            }
            bootstrap.sentCount += page.rows.count
            bootstrap.roots = page.next.map { .scan(after: $0) } ?? .done
        case .listed(let roots, let start):
            let end = min(roots.count, start + limits.pageRowCount)
            var next = start
            while next < end, !isFull(builder) {
                let object = roots[next]
                next += 1
                // An object that no commit has changed is still a root; the others are sent at the end.
                guard !bootstrap.touched.contains(object), let row = try storage.row(object) else { continue }
                let member = ViewMember(role: .root, included: live.includedOfRoot(object))
                try add(row, of: object, member, &bootstrap, live, to: &builder)
            }
            bootstrap.sentCount += next - start
            bootstrap.roots = next < roots.count ? .listed(roots, next: next) : .done
        }
    }

    /// Adds the departures of members that the client has and that are not in the view.
    private func addLeaving(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        var leaving = bootstrap.leaving ?? bootstrap.known?.takeRest().reversed() ?? []
        bootstrap.leaving = []
        var room = limits.pageRowCount
        while room > 0, !isFull(builder), case (let object, let isRoot)? = leaving.popLast() {
            room -= 1
            // An object that entered the view behind the pages was changed by a commit, and is sent at the end.
            guard try live.member(object, in: storage) == nil else { continue }
            let reason = try live.reasonOfDeparture(object, wasRoot: isRoot, in: storage)
            builder.add(object, role: .member, reason: reason)
        }
        bootstrap.leaving = leaving
    }

    /// Begins a round of sending the objects that commits have changed so far, unless a round is under way.
    ///
    /// - Returns: the number of objects of the round.
    private func beginSettling(_ bootstrap: inout Bootstrap) -> Int {
        guard bootstrap.settling.isEmpty, !bootstrap.touched.isEmpty else { return 0 }
        bootstrap.settling = bootstrap.touched.sorted(by: >)
        bootstrap.touched = []
        bootstrap.settlingRound += 1
        return bootstrap.settling.count
    }

    /// Adds the state or the departure of the changed objects of the present round.
    private func addTouched(_ bootstrap: inout Bootstrap, _ live: LiveView, in builder: inout ViewBlockBuilder) throws {
        // The last round has no limit, because a view that changes faster than its pages travel would never be
        // complete.
        let isLast = bootstrap.settlingRound >= limits.settlingRoundMax
        var room = isLast ? .max : limits.pageRowCount
        while room > 0, isLast || !isFull(builder), let object = bootstrap.settling.popLast() {
            room -= 1
            if isFull(builder) { builder.beginBlock() }
            let row = try storage.row(object)
            let reason = try live.reasonOfDeparture(object, wasRoot: true, in: storage)
            guard let row, let member = try live.member(object, in: storage) else {
                builder.add(object, role: .member, reason: reason)
                continue
            }
            let role: RowRole = member.role == .root ? .root : .linked
            if role == .linked { builder.add(object, role: .root, reason: reason) }
            try builder.add(row, of: object.classIndex, properties: member.included, role: role)
        }
    }
}
