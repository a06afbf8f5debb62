internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    func makeBootstrap(of live: LiveView) throws -> Bootstrap {
        let linked = live.linkedObjects.map(\.object)
        if let roots = live.windowRoots {
            return Bootstrap(linked: linked, roots: .listed(roots, next: 0), expectedCount: linked.count + roots.count)
        }
        guard live.query.sort.isEmpty, let classIndex = live.rootClass else {
            let roots = try storage.refs(matching: live.query)
            return Bootstrap(linked: linked, roots: .listed(roots, next: 0), expectedCount: linked.count + roots.count)
        }
        let count = try storage.count(ofClass: classIndex)
        return Bootstrap(linked: linked, roots: .scan(after: nil), expectedCount: linked.count + count)
    }

    /// Sends one page; after the last, what changed meanwhile, and that the subscription is complete.
    func sendPage(of subscription: ViewSubscription, now: Timestamp) throws {
        guard var bootstrap = subscription.bootstrap else { return }
        let live = subscription.view.live
        var builder = ViewBlockBuilder(rowCountMax: .max)
        try addLinked(&bootstrap, live, to: &builder)
        if bootstrap.linked.isEmpty { try addRoots(&bootstrap, live, to: &builder) }
        var messages: [ServerMessage] = []
        let isLast = if case .done = bootstrap.roots { true } else { false }
        if isLast {
            try addTouched(bootstrap, live, to: &builder)
            subscription.bootstrap = nil
        } else {
            subscription.bootstrap = bootstrap
        }
        let session = subscription.session.id.session
        let page = ServerMessage.Page(
            session: session, subscriptions: [subscription.id], version: storage.version,
            progress: isLast ? 1 : bootstrap.progress, content: builder.blocks[0])
        messages.append(.page(page))
        if isLast {
            messages.append(
                .complete(
                    .init(
                        session: session, subscription: subscription.id, version: storage.version, acceptedAt: now,
                        kind: .bootstrap)))
        }
        subscription.session.pageCredit -= 1
        statistics.sentPageCount += 1
        send(messages, to: subscription.session.id)
    }

    private func addLinked(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        var room = limits.pageRowCount
        while room > 0, let object = bootstrap.linked.popLast() {
            room -= 1
            bootstrap.sentCount += 1
            guard let included = live.linkedProperties(of: object), let row = try storage.row(object) else { continue }
            builder.add(row, of: object.classIndex, properties: included, role: .linked)
        }
    }

    private func addRoots(_ bootstrap: inout Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        switch bootstrap.roots {
        case .done:
            return
        case .scan(let cursor):
            guard let classIndex = live.rootClass else { return }
            let page = try storage.rows(matching: live.query, after: cursor, limit: limits.pageRowCount)
            let included = live.rootProperties(ofClass: classIndex)
            for row in page.rows { builder.add(row, of: classIndex, properties: included, role: .root) }
            bootstrap.sentCount += page.rows.count
            bootstrap.roots = page.next.map { .scan(after: $0) } ?? .done
        case .listed(let roots, let next):
            let end = min(roots.count, next + limits.pageRowCount)
            for object in roots[next..<end] {
                guard try live.isRoot(object, source: storage), let row = try storage.row(object) else { continue }
                let included = live.rootProperties(ofClass: object.classIndex)
                builder.add(row, of: object.classIndex, properties: included, role: .root)
            }
            bootstrap.sentCount += end - next
            bootstrap.roots = end < roots.count ? .listed(roots, next: end) : .done
        }
    }

    /// The state, or the departure, of everything that commits touched behind the pages.
    private func addTouched(_ bootstrap: Bootstrap, _ live: LiveView, to builder: inout ViewBlockBuilder) throws {
        for object in bootstrap.touched.sorted() {
            let row = try storage.row(object)
            if let row, try live.isRoot(object, source: storage) {
                let included = live.rootProperties(ofClass: object.classIndex)
                builder.add(row, of: object.classIndex, properties: included, role: .root)
            } else if let row, let included = live.linkedProperties(of: object) {
                builder.add(object, role: .root, reason: .filter)
                builder.add(row, of: object.classIndex, properties: included, role: .linked)
            } else {
                builder.add(object, role: .member, reason: row == nil ? .deleted : .filter)
            }
        }
    }
}
