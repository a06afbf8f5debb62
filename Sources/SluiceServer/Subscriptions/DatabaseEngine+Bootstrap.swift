internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    func makeBootstrap(of live: LiveView) throws -> Bootstrap {
        var linked: [ObjectRef] = []
        try live.forEachLinked(in: storage) { object, _ in linked.append(object) }
        let listed = try live.currentRoots ?? (live.query.sort.isEmpty ? nil : storage.refs(matching: live.query))
        if let roots = listed {
            return Bootstrap(linked: linked, roots: .listed(roots, next: 0), expectedCount: linked.count + roots.count)
        }
        let count = try storage.count(matching: live.query)
        return Bootstrap(linked: linked, roots: .scan(after: nil), expectedCount: linked.count + count)
    }

    /// Sends one page; in the last ones what changed meanwhile, and that the subscription is complete.
    func sendPage(of subscription: ViewSubscription, now: Timestamp) throws {
        guard var bootstrap = subscription.bootstrap else { return }
        // What the client has is long: it must not be copied.
        subscription.bootstrap = nil
        defer { if !bootstrap.isComplete { subscription.bootstrap = bootstrap } }
        let live = subscription.view.live
        var builder = ViewBlockBuilder(rowCountMax: .max, byteCountMax: .max)
        try addLinked(&bootstrap, live, to: &builder)
        if bootstrap.linked.isEmpty, !isFull(builder) { try addRoots(&bootstrap, live, to: &builder) }
        if case .done = bootstrap.roots { try addLeaving(&bootstrap, live, to: &builder) }
        if bootstrap.isSent {
            subscription.session.touchedObjectCount -= beginSettling(&bootstrap)
            try settle(&bootstrap, live, in: &builder)
        }
        send(builder.blocks, of: subscription, bootstrap, now: now)
        if bootstrap.isComplete { subscription.session.comparedMemberCount -= bootstrap.announcedCount }
    }

    /// Whether a page takes no more objects.
    private func isFull(_ builder: ViewBlockBuilder) -> Bool { builder.lastBlockSize >= limits.pageByteCount }

    private func send(
        _ blocks: [ViewBlock], of subscription: ViewSubscription, _ bootstrap: Bootstrap, now: Timestamp
    ) {
        let session = subscription.session.id.session
        for (position, block) in blocks.enumerated() {
            var messages: [ServerMessage] = []
            // A page without content begins a membership, and says nothing of one that is there.
            if bootstrap.kind == .bootstrap || !block.isEmpty {
                let page = ServerMessage.Page(
                    session: session, subscriptions: [subscription.id], version: storage.version,
                    progress: bootstrap.isComplete ? 1 : bootstrap.progress, kind: bootstrap.kind, content: block)
                messages.append(.page(page))
                statistics.sentPageCount += 1
                subscription.session.pageCredit -= min(subscription.session.pageCredit, 1)
            }
            if bootstrap.isComplete, position == blocks.count - 1 {
                // What was touched counts as it was when it was looked at.
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
            add(row, of: object, member, &bootstrap, live, to: &builder)
        }
    }

    /// Adds a member, unless the client has it as it is.
    private func add(
        _ row: Row, of object: ObjectRef, _ member: ViewMember, _ bootstrap: inout Bootstrap, _ live: LiveView,
        to builder: inout ViewBlockBuilder
    ) {
        let isRoot = member.role == .root
        if let count = bootstrap.digest?.count, count < limits.digestObjectCountMax {
            bootstrap.digest?.add(row, of: object.classIndex, isRoot: isRoot)
        } else {
            bootstrap.digest = nil
        }
        let isKnown = bootstrap.known?.take(object, isRoot: isRoot, version: row.version) ?? false
        if isKnown, live.includesAlike(object.classIndex) { return }
        builder.add(row, of: object.classIndex, properties: member.included, role: isRoot ? .root : .linked)
    }

    private func addRoots(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        switch bootstrap.roots {
        case .done:
            return
        case .scan(let cursor):
            let classIndex = live.query.classIndex
            let page = try storage.rows(
                matching: live.query, after: cursor, limit: limits.pageRowCount,
                byteCountMax: limits.pageByteCount - builder.lastBlockSize)
            for row in page.rows {
                let object = ObjectRef(classIndex, row.key)
                let member = ViewMember(role: .root, included: live.includedOfRoot(object))
                add(row, of: object, member, &bootstrap, live, to: &builder)
            }
            bootstrap.sentCount += page.rows.count
            bootstrap.roots = page.next.map { .scan(after: $0) } ?? .done
        case .listed(let roots, let start):
            let end = min(roots.count, start + limits.pageRowCount)
            var next = start
            while next < end, !isFull(builder) {
                let object = roots[next]
                next += 1
                guard let member = try live.member(object, in: storage), member.role == .root,
                    let row = try storage.row(object)
                else { continue }
                add(row, of: object, member, &bootstrap, live, to: &builder)
            }
            bootstrap.sentCount += next - start
            bootstrap.roots = next < roots.count ? .listed(roots, next: next) : .done
        }
    }

    /// The departure of what the client has and the view has not.
    private func addLeaving(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        var leaving = bootstrap.leaving ?? bootstrap.known?.takeRest().reversed() ?? []
        bootstrap.leaving = []
        var room = limits.pageRowCount
        while room > 0, !isFull(builder), case (let object, let isRoot)? = leaving.popLast() {
            room -= 1
            // What came into the view behind the pages was touched.
            guard try live.member(object, in: storage) == nil else { continue }
            let reason = try live.reasonOfDeparture(object, wasRoot: isRoot, in: storage)
            builder.add(object, role: .member, reason: DepartureReason(reason))
        }
        bootstrap.leaving = leaving
    }

    /// Gives what commits touched so far its turn, unless it is that of earlier objects.
    ///
    /// - Returns: how many objects there are.
    private func beginSettling(_ bootstrap: inout Bootstrap) -> Int {
        guard bootstrap.settling.isEmpty, !bootstrap.touched.isEmpty else { return 0 }
        bootstrap.settling = bootstrap.touched.sorted(by: >)
        bootstrap.touched = []
        bootstrap.settlingRound += 1
        return bootstrap.settling.count
    }

    /// Adds the state, or the departure, of what commits touched behind the pages.
    private func settle(_ bootstrap: inout Bootstrap, _ live: LiveView, in builder: inout ViewBlockBuilder) throws {
        // What changes faster than its pages can travel would never be complete.
        let isLast = bootstrap.settlingRound >= limits.settlingRoundMax
        var room = isLast ? .max : limits.pageRowCount
        while room > 0, isLast || !isFull(builder), let object = bootstrap.settling.popLast() {
            room -= 1
            if isFull(builder) { builder.beginBlock() }
            let row = try storage.row(object)
            guard let row, let member = try live.member(object, in: storage) else {
                builder.add(object, role: .member, reason: row == nil ? .deleted : .filter)
                continue
            }
            let role: RowRole = member.role == .root ? .root : .linked
            if role == .linked { builder.add(object, role: .root, reason: .filter) }
            builder.add(row, of: object.classIndex, properties: member.included, role: role)
        }
    }
}
