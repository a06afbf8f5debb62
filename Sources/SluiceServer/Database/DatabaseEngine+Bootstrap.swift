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

    /// Sends one page; with the last, what changed meanwhile, in more pages if need be, and that the subscription is complete.
    func sendPage(of subscription: ViewSubscription, now: Timestamp) throws {
        guard var bootstrap = subscription.bootstrap else { return }
        let live = subscription.view.live
        var builder = ViewBlockBuilder(rowCountMax: .max, byteCountMax: limits.pageByteCount)
        try addLinked(&bootstrap, live, to: &builder)
        if bootstrap.linked.isEmpty, !builder.isFull { try addRoots(&bootstrap, live, to: &builder) }
        let isLast = if case .done = bootstrap.roots { true } else { false }
        if isLast {
            try addTouched(bootstrap, live, to: &builder)
            subscription.bootstrap = nil
        } else {
            subscription.bootstrap = bootstrap
        }
        let session = subscription.session.id.session
        for (position, block) in builder.blocks.enumerated() {
            let page = ServerMessage.Page(
                session: session, subscriptions: [subscription.id], version: storage.version,
                progress: isLast ? 1 : bootstrap.progress, content: block)
            var messages: [ServerMessage] = [.page(page)]
            if isLast, position == builder.blocks.count - 1 {
                let complete = ServerMessage.Complete(
                    session: session, subscription: subscription.id, version: storage.version, acceptedAt: now,
                    kind: .bootstrap)
                messages.append(.complete(complete))
            }
            send(messages, to: subscription.session.id)
            statistics.sentPageCount += 1
        }
        subscription.session.pageCredit -= min(subscription.session.pageCredit, UInt64(builder.blocks.count))
    }

    private func addLinked(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        var room = limits.pageRowCount
        while room > 0, !builder.isFull, let object = bootstrap.linked.popLast() {
            room -= 1
            bootstrap.sentCount += 1
            guard let member = try live.member(object, in: storage), member.role == .linked,
                let row = try storage.row(object)
            else { continue }
            builder.add(row, of: object.classIndex, properties: member.included, role: .linked)
        }
    }

    private func addRoots(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        switch bootstrap.roots {
        case .done:
            return
        case .scan(let cursor):
            let classIndex = live.query.classIndex
            let page = try storage.rows(
                matching: live.query, after: cursor, limit: limits.pageRowCount, byteCountMax: limits.pageByteCount)
            for row in page.rows {
                let included = live.includedOfRoot(ObjectRef(classIndex, row.key))
                builder.add(row, of: classIndex, properties: included, role: .root)
            }
            bootstrap.sentCount += page.rows.count
            bootstrap.roots = page.next.map { .scan(after: $0) } ?? .done
        case .listed(let roots, let start):
            let end = min(roots.count, start + limits.pageRowCount)
            var next = start
            while next < end, !builder.isFull {
                let object = roots[next]
                next += 1
                guard let member = try live.member(object, in: storage), member.role == .root,
                    let row = try storage.row(object)
                else { continue }
                builder.add(row, of: object.classIndex, properties: member.included, role: .root)
            }
            bootstrap.sentCount += next - start
            bootstrap.roots = next < roots.count ? .listed(roots, next: next) : .done
        }
    }

    /// The state, or the departure, of everything that commits touched behind the pages.
    private func addTouched(_ bootstrap: Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        for object in bootstrap.touched.sorted() {
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
