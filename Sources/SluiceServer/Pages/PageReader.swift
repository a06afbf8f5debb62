internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Reads the objects of one page from the database, within the work that the page may take.
struct PageReader {
    let storage: any ObjectReading
    let live: LiveView
    let limits: DatabaseLimits
    let work: WorkLimit
    /// The steps after which the page takes no more objects.
    let stepCountMax: Int

    /// Reads on.
    ///
    /// - Parameter isLast: whether to read the whole round of changed objects, whatever its size.
    /// - Returns: one block; several if the last round is large.
    func read(_ remaining: inout RemainingPages, isLast: Bool = false) throws -> [ViewBlock] {
        var builder = makeBuilder()
        try addLinked(&remaining, to: &builder)
        if remaining.linked.isEmpty, !isFull(builder) { try addRoots(&remaining, to: &builder) }
        if case .done = remaining.roots { try addLeaving(&remaining, to: &builder) }
        if remaining.isRead {
            remaining.beginSettling()
            try addTouched(&remaining, isLast: isLast, in: &builder)
        }
        return builder.blocks
    }

    /// Reads on beside the writer. What commits have changed behind the pages belongs to a page of its own, since commits
    /// go on changing things meanwhile.
    ///
    /// - Parameter remaining: what ``RemainingPages/takeReading()`` has taken out.
    func readBeside(_ remaining: inout RemainingPages) throws -> ViewBlock {
        var builder = makeBuilder()
        if remaining.isRead {
            try addTouched(&remaining, isLast: false, in: &builder)
            return builder.blocks[0]
        }
        try addLinked(&remaining, to: &builder)
        if remaining.linked.isEmpty, !isFull(builder) { try addRoots(&remaining, to: &builder) }
        if case .done = remaining.roots { try addLeaving(&remaining, to: &builder) }
        return builder.blocks[0]
    }

    /// Reads the objects of an earlier page again, as they are now.
    ///
    /// - Parameter isSettledLater: whether a later page brings the object.
    func read(_ page: PageRun.Page, _ isSettledLater: (ObjectRef) -> Bool) throws -> ViewBlock {
        var builder = makeBuilder()
        for (position, object) in page.objects.enumerated() where !isSettledLater(object) {
            guard page.round == 0 else {
                try settle(object, in: &builder)
                continue
            }
            // What no commit has touched is in the view as it was.
            guard let row = try storage.row(object) else { continue }
            let isLinked = position < page.linkedCount
            let included = isLinked ? try live.member(object, in: storage)?.included : live.includedOfRoot(object)
            guard let included else { continue }
            try builder.add(
                shown(row, of: object.classIndex), of: object.classIndex, properties: included,
                role: isLinked ? .linked : .root)
        }
        return builder.blocks[0]
    }

    private func shown(_ row: Row, of classIndex: Int) throws -> Row {
        try live.shown(row, ofClass: classIndex, in: storage)
    }

    private func makeBuilder() -> ViewBlockBuilder { ViewBlockBuilder(schema: storage.schema, limits: limits.data) }

    /// Whether the page takes no more objects, because of its size or because of the work for it.
    private func isFull(_ builder: ViewBlockBuilder) -> Bool {
        builder.lastBlockSize >= limits.pageByteCount || work.stepCount >= stepCountMax
    }

    private func addLinked(_ remaining: inout RemainingPages, to builder: inout ViewBlockBuilder) throws {
        var room = limits.pageRowCount
        while room > 0, !isFull(builder), let object = remaining.linked.popFirst() {
            room -= 1
            remaining.readCount += 1
            guard let member = try live.member(object, in: storage), member.role == .linked,
                let row = try storage.row(object)
            else { continue }
            try add(row, of: object, member, &remaining, to: &builder)
        }
    }

    /// Adds a member, unless the client has it at this version.
    private func add(
        _ row: Row, of object: ObjectRef, _ member: ViewMember, _ remaining: inout RemainingPages,
        to builder: inout ViewBlockBuilder
    ) throws {
        let isRoot = member.role == .root
        let row = try shown(row, of: object.classIndex)
        guard !has(row, of: object, isRoot: isRoot, &remaining) else { return }
        try builder.add(row, of: object.classIndex, properties: member.included, role: isRoot ? .root : .linked)
    }

    /// Notes a member as one that was compared, and as part of the digest.
    ///
    /// - Returns: whether the client has it at this version.
    private func has(_ row: Row, of object: ObjectRef, isRoot: Bool, _ remaining: inout RemainingPages) -> Bool {
        if let count = remaining.digest?.count, count < limits.digestObjectCountMax {
            remaining.digest?.add(row, of: object.classIndex, isRoot: isRoot)
        } else {
            remaining.digest = nil
        }
        let isKnown = remaining.known?.remove(object, isRoot: isRoot, version: row.version) ?? false
        // A link that shows with its target does so at the same version of the row.
        return isKnown && live.includesAlike(object.classIndex)
            && live.query.context.veiledLinks(ofClass: object.classIndex).isEmpty
    }

    private func addRoots(_ remaining: inout RemainingPages, to builder: inout ViewBlockBuilder) throws {
        switch remaining.roots {
        case .done, .unlisted:
            return
        case .scan(let cursor):
            let page = try work.attempting(max(1, stepCountMax - work.stepCount)) {
                try readRoots(after: cursor, remaining, for: builder)
            }
            guard let page else {
                // With less than its full share in this turn, the session may succeed in its next turn.
                if stepCountMax >= limits.shareStepCountMax, builder.blocks[0].isEmpty {
                    remaining.roots = .unlisted(after: cursor)
                }
                return
            }
            switch page.roots {
            case .columns(let rows, let included, let known, let count):
                builder.add(rows, of: live.query.classIndex, properties: included, role: .root)
                remaining.known = known
                remaining.readCount += count
            case .rows(let rows):
                try add(rows, &remaining, to: &builder)
                remaining.readCount += rows.count
            }
            remaining.roots = page.next.map { .scan(after: $0) } ?? .done
        case .listed(let roots, let start):
            let end = min(roots.count, start + limits.pageRowCount)
            var next = start
            while next < end, !isFull(builder) {
                let object = roots[next]
                next += 1
                // An object that no commit has changed is still a root; the others are sent at the end.
                guard !remaining.touched.contains(object), let row = try storage.row(object) else { continue }
                let member = ViewMember(role: .root, included: live.includedOfRoot(object))
                try add(row, of: object, member, &remaining, to: &builder)
            }
            remaining.readCount += next - start
            remaining.roots = next < roots.count ? .listed(roots, next: next) : .done
        }
    }

    /// The next roots as a page has them.
    private enum Roots {
        /// By column, without those that the client has: with the properties that the view includes of each, with what
        /// the client has listed beyond them, and with how many there were.
        case columns(RowColumns, PropertySet, KnownMembers?, count: Int)
        case rows([Row])
    }

    /// Reads the next roots: by column, unless something is asked of the single row.
    private func readRoots(
        after cursor: RowCursor?, _ remaining: RemainingPages, for builder: ViewBlockBuilder
    ) throws -> (roots: Roots, next: RowCursor?) {
        let byteCountMax = limits.pageByteCount - builder.lastBlockSize
        if remaining.digest == nil, !live.query.context.veilsLinks,
            let page = try readColumns(after: cursor, remaining.known, byteCountMax: byteCountMax, for: builder)
        {
            return page
        }
        let page = try storage.rows(
            matching: live.query, after: cursor, limit: limits.pageRowCount, byteCountMax: byteCountMax)
        return (.rows(page.rows), page.next)
    }

    /// Reads the next roots by column.
    ///
    /// - Parameter known: what the client has listed. The caller's copy counts until the page is read, since the reading
    ///   may be interrupted and tried again.
    /// - Returns: nil if they must be read row by row.
    private func readColumns(
        after cursor: RowCursor?, _ known: KnownMembers?, byteCountMax: Int, for builder: ViewBlockBuilder
    ) throws -> (roots: Roots, next: RowCursor?)? {
        let classIndex = live.query.classIndex
        guard let included = live.includedOfRoots(ofClass: classIndex) else { return nil }
        var known = known
        var count = 0
        let page = try storage.columns(
            matching: live.query, of: included, after: cursor, limit: limits.pageRowCount, byteCountMax: byteCountMax
        ) { key, version in
            count += 1
            return !(known?.remove(ObjectRef(classIndex, key), isRoot: true, version: version) ?? false)
        }
        guard let page, builder.accepts(page.rows) else { return nil }
        return (.columns(page.rows, included, known, count: count), page.next)
    }

    private func add(
        _ rows: [Row], _ remaining: inout RemainingPages, to builder: inout ViewBlockBuilder
    ) throws {
        let classIndex = live.query.classIndex
        guard let included = live.includedOfRoots(ofClass: classIndex) else {
            for row in rows {
                let object = ObjectRef(classIndex, row.key)
                let member = ViewMember(role: .root, included: live.includedOfRoot(object))
                try add(row, of: object, member, &remaining, to: &builder)
            }
            return
        }
        // The same properties of all, so that they are added together.
        var rows = live.query.context.veilsLinks ? try rows.map { try shown($0, of: classIndex) } : rows
        if remaining.known != nil || remaining.digest != nil {
            rows.removeAll { has($0, of: ObjectRef(classIndex, $0.key), isRoot: true, &remaining) }
        }
        try builder.add(rows, of: classIndex, properties: included, role: .root)
    }

    /// Adds the departures of members that the client has and that are not in the view.
    private func addLeaving(_ remaining: inout RemainingPages, to builder: inout ViewBlockBuilder) throws {
        var leaving = remaining.leaving ?? remaining.known?.takeRest().reversed() ?? []
        remaining.leaving = []
        var room = limits.pageRowCount
        while room > 0, !isFull(builder), case (let object, let isRoot)? = leaving.popLast() {
            room -= 1
            // An object that entered the view behind the pages was changed by a commit, and is sent at the end.
            guard try live.member(object, in: storage) == nil else { continue }
            builder.add(object, role: .member, reason: try reasonOfListed(object, wasRoot: isRoot))
        }
        remaining.leaving = leaving
    }

    /// Why an object that the client has listed is not in the view.
    ///
    /// A client can list any key. So that it does not learn which keys hidden objects have, the answer is the same for
    /// those and for keys that no object has: of a class of which nothing may be read any more, that this is why; else
    /// that the reason is not known.
    private func reasonOfListed(_ object: ObjectRef, wasRoot: Bool) throws -> RemovalReason {
        let rule = live.query.context.condition(ofClass: object.classIndex)
        if let rule, rule.isOfNothing { return .permission }
        let reason = try live.reasonOfDeparture(object, wasRoot: wasRoot, in: storage)
        guard reason == .deleted || reason == .permission else { return reason }
        return rule == nil ? reason : .unknown
    }

    /// Adds the changed objects of the present round.
    private func addTouched(
        _ remaining: inout RemainingPages, isLast: Bool, in builder: inout ViewBlockBuilder
    ) throws {
        var room = isLast ? .max : limits.pageRowCount
        while room > 0, isLast || !isFull(builder), let object = remaining.settling.popFirst() {
            room -= 1
            if isFull(builder) { builder.beginBlock() }
            try settle(object, isListed: remaining.announcedCount > 0, in: &builder)
        }
    }

    /// Adds the state or the departure of an object that commits have changed.
    ///
    /// - Parameter isListed: whether the client may have listed the object without having had it.
    private func settle(_ object: ObjectRef, isListed: Bool = false, in builder: inout ViewBlockBuilder) throws {
        let row = try storage.row(object)
        let reason =
            try isListed
            ? reasonOfListed(object, wasRoot: true) : live.reasonOfDeparture(object, wasRoot: true, in: storage)
        guard let row, let member = try live.member(object, in: storage) else {
            return builder.add(object, role: .member, reason: reason)
        }
        let role: RowRole = member.role == .root ? .root : .linked
        if role == .linked { builder.add(object, role: .root, reason: reason) }
        try builder.add(
            shown(row, of: object.classIndex), of: object.classIndex, properties: member.included, role: role)
    }
}
