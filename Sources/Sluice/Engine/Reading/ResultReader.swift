internal import SluiceModel
package import SluiceQuery
package import SluiceStorage
package import SluiceViews

/// Computes a query's results in one state of the store; ``ResultMatcher`` says which they are.
struct ResultReader {
    let judge: ResultMatcher
    let reader: any ClientReading
    let subscription: SubscriptionRecord?
    /// What the open transaction that reads has written; nil outside of one.
    let written: WrittenObjects?
    /// The state by which objects are judged.
    let state: any ObjectStanding

    /// - Parameters:
    ///   - reader: the state to read.
    ///   - subscription: the query's subscription in that state, if there is one.
    ///   - written: what the open transaction that reads has written; nil outside of one.
    init(
        _ judge: ResultMatcher, in reader: any ClientReading, subscription: SubscriptionRecord?,
        written: WrittenObjects? = nil
    ) {
        self.judge = judge
        self.reader = reader
        self.subscription = subscription
        self.written = written
        state = written.map { OpenTransactionState(reader, $0) } ?? reader
    }

    var query: Query { judge.query }

    /// The classes as of the state that is read.
    var schema: Schema { reader.schema }

    /// Whether an object that is here is among the results, regardless of the limit.
    func includes(_ row: Row, _ object: ObjectRef) throws -> Bool {
        try judge.includes(row, object, of: subscription, in: state)
    }

    /// Whether the server's answer decides which objects are results.
    var isInForce: Bool { judge.isInForce(subscription, in: reader) }

    private func isNamed(_ object: ObjectRef) throws -> Bool { try judge.isNamed(object, subscription, in: state) }

    /// Calls `body` with every result, regardless of the limit, in no particular order.
    func forEachResult(_ body: (ObjectRef, Row) throws -> Void) throws {
        try forEachStoredResult {
            let row = try $0.row()
            try body(ObjectRef($0.classIndex, row.key), row)
            return true
        } or: {
            try body($0, $1)
            return true
        }
    }

    /// Whether there is no result. O(1) where the first match on disk is one.
    func isEmpty() throws -> Bool {
        guard query.stages.isEmpty else { return try count() == 0 }
        guard query.limit != 0 else { return true }
        var isEmpty = true
        try forEachStoredResult { _ in
            isEmpty = false
            return false
        } or: { _, _ in
            isEmpty = false
            return false
        }
        return isEmpty
    }

    /// Calls one of two closures with every result, regardless of the limit, in no particular order, until one returns
    /// false.
    ///
    /// - Parameters:
    ///   - found: called with a result of which no more than cells was read.
    ///   - body: called with one that was read as a whole to judge it.
    private func forEachStoredResult(
        _ found: (StoredRow) throws -> Bool, or body: (ObjectRef, Row) throws -> Bool
    ) throws {
        if let id = query.object {
            guard let object = try reader.findObject(id), let row = try reader.row(object),
                try includes(row, object)
            else { return }
            _ = try body(object, row)
            return
        }
        guard let subscription else { return try forEachMatch(found, or: body) }
        var goesOn = true
        func visit(_ object: ObjectRef) throws {
            guard goesOn, let row = try reader.row(object), try includes(row, object) else { return }
            goesOn = try body(object, row)
        }
        if isInForce {
            let decided = try decidedHere(pendingObjects())
            try reader.forEachMemberRow(of: subscription.id, role: .root) { row in
                // Members about which the server decides need no evaluation.
                guard !decided.isEmpty, case let object = try row.object, decided.contains(object) else {
                    goesOn = try found(row)
                    return goesOn
                }
                let whole = try row.row()
                if try includes(whole, object) { goesOn = try body(object, whole) }
                return goesOn
            }
            for object in decided where object.classIndex == query.classIndex {
                if try !isNamed(object) { try visit(object) }
            }
            return
        }
        // Without members nobody asks which objects were met, and these may be all that the store has.
        let hasMembers = reader.memberCount(of: subscription.id, role: .root) > 0
        var seen: Set<ObjectRef> = []
        try forEachMatch { row in
            if hasMembers { seen.insert(try row.object) }
            goesOn = try found(row)
            return goesOn
        } or: { object, row in
            if hasMembers { seen.insert(object) }
            goesOn = try body(object, row)
            return goesOn
        }
        guard hasMembers else { return }
        try reader.forEachMember(of: subscription.id, role: .root) { object in
            if !seen.contains(object) { try visit(object) }
            return goesOn
        }
    }

    /// The objects whose pending operations decide over the server's word, each once.
    func pendingObjects() throws -> [ObjectRef] {
        let pending = try reader.pendingObjects
        guard let written = written?.objects, !written.isEmpty else { return pending }
        return Array(Set(pending).union(written))
    }

    /// The objects about which this store decides, and not the server that has answered the query: those with pending
    /// writes, and those from which the query's paths lead to one.
    func decidedHere(_ pending: [ObjectRef]) throws -> Set<ObjectRef> {
        guard !pending.isEmpty else { return [] }
        return try judge.decidedBehindLinks(pending, of: subscription, in: state).union(pending)
    }

    /// The objects about which pending writes of linked objects decide otherwise than the server has answered.
    func overruled() throws -> [ObjectRef] {
        guard let subscription, isInForce, query.object == nil else { return [] }
        let pending = try pendingObjects()
        guard !pending.isEmpty else { return [] }
        return try judge.decidedBehindLinks(pending, of: subscription, in: state).filter { object in
            guard let row = try reader.row(object) else { return false }
            return try judge.decide(row, object, of: subscription, in: state).isOverruled
        }
    }

    /// Calls one of two closures, as ``forEachStoredResult(_:or:)`` does, with every object that matches on disk, unless
    /// that cannot be judged and the server did not name it.
    private func forEachMatch(
        _ found: (StoredRow) throws -> Bool, or body: (ObjectRef, Row) throws -> Bool
    ) throws {
        let needed = judge.neededProperties(of: subscription)
        // The SQL statement has evaluated the condition already.
        try reader.forEachStoredRow(matching: query) { row in
            if let needed {
                if try !row.absent.meets(needed) || isNamed(row.object) { return try found(row) }
            } else {
                let whole = try row.row()
                let object = ObjectRef(query.classIndex, whole.key)
                if try judge.isJudgeable(whole, of: subscription, in: state) || isNamed(object) {
                    return try body(object, whole)
                }
            }
            return true
        }
    }

    /// All results in order, within the limit.
    func results() throws -> ResultList {
        let order = SortOrder(query.sort)
        let entries = try firstMatches() ?? entriesWithStanding()
        guard query.stages.isEmpty else {
            return ResultList(schema: schema, order: order, limit: nil, entries: staged(entries))
        }
        return ResultList(schema: schema, order: order, limit: query.limit, entries: entries)
    }

    /// The results that the query's stages leave, in order.
    private func staged(_ entries: [ResultEntry]) -> [ResultEntry] {
        query.results(among: entries, values: \.position.values, id: \.position.id)
    }

    /// All results in order, within the limit, without the list that observing would need.
    func sortedEntries() throws -> ArraySlice<ResultEntry> {
        guard query.stages.isEmpty else { return staged(try entries())[...] }
        var entries = try firstMatches() ?? entries()
        SortOrder(query.sort).sort(&entries)
        return entries.prefix(query.limit ?? .max)
    }

    /// The results within the limit and at most a few others, in no particular order; nil where they cannot be found
    /// without the others.
    private func firstMatches() throws -> [ResultEntry]? {
        guard readsWindow, let limit = query.limit else { return nil }
        return try limit == 0 ? [] : firstResults(limit).entries
    }

    /// The number of results, at most the limit.
    func count() throws -> Int {
        guard query.stages.isEmpty else { return staged(try entries()).count }
        return min(try matchCount(), query.limit ?? .max)
    }

    /// The number of results, regardless of the limit, of a query without stages.
    func matchCount() throws -> Int {
        var count = 0
        try forEachStoredResult { _ in
            count += 1
            return true
        } or: { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// All matches, regardless of limit and stages.
    func entries() throws -> [ResultEntry] {
        var entries: [ResultEntry] = []
        try forEachResult { object, row in entries.append(try judge.entry(object, row, in: state)) }
        return entries
    }

    /// All matches, regardless of limit and stages, which know whether writes of them are pending.
    func entriesWithStanding() throws -> [ResultEntry] {
        var entries: [ResultEntry] = []
        try forEachEntryWithStanding { entries.append($0) }
        return entries
    }

    /// Calls `body` with all matches, regardless of limit and stages, which know whether writes of them are pending.
    func forEachEntryWithStanding(_ body: (ResultEntry) throws -> Void) throws {
        let pending = Set(try pendingObjects())
        try forEachResult { object, row in
            try body(judge.entry(object, row, isPending: !pending.isEmpty && pending.contains(object), in: state))
        }
    }

    /// Calls `body` with the results of a complete subscription that are not known already, as
    /// ``forEachEntryWithStanding(_:)`` does. Of the others it reads no more than the key.
    ///
    /// - Parameter isKnown: whether a result about which the server decides is known already.
    /// - Returns: false, and `body` was not called, where the server's answer is not what decides.
    func forEachNamedEntry(
        except isKnown: (ObjectRef) -> Bool, _ body: (ResultEntry) throws -> Void
    ) throws -> Bool {
        guard let subscription, isInForce, query.object == nil else { return false }
        let pending = Set(try pendingObjects())
        let decided = try decidedHere(Array(pending))
        func visit(_ object: ObjectRef, isDecided: Bool) throws {
            guard let row = try reader.row(object), try !isDecided || includes(row, object) else { return }
            try body(judge.entry(object, row, isPending: isDecided && pending.contains(object), in: state))
        }
        try reader.forEachMember(of: subscription.id, role: .root) { object in
            let isDecided = !decided.isEmpty && decided.contains(object)
            if isDecided || !isKnown(object) { try visit(object, isDecided: isDecided) }
            return true
        }
        for object in decided where object.classIndex == query.classIndex {
            if try !isNamed(object) { try visit(object, isDecided: true) }
        }
        return true
    }

    /// About how many results there are; nil where that costs much to find out.
    private var roughCount: Int? {
        if let subscription { return isInForce ? reader.memberCount(of: subscription.id, role: .root) : nil }
        guard case .constant(true) = query.predicate else { return nil }
        return reader.countMax(ofClass: query.classIndex)
    }

    /// Calls `body` with the results of a query without sort, limit and stages.
    ///
    /// - Parameter reserve: called before that with about how many they are, where that is known.
    /// - Returns: how to order what `body` was called with by object id: the positions in order. Nil if it is in order.
    func forEachDecoder(
        _ binding: ElementBinding, reserving reserve: (Int) -> Void,
        _ body: (borrowing RowDecoder) throws -> Void
    ) throws -> [Int]? {
        var read = ReadOrder()
        if let roughCount {
            read.reserve(roughCount)
            reserve(roughCount)
        }
        try withExtendedLifetime(binding) {
            try forEachStoredResult {
                let object = try $0.object
                read.append(judge.id(of: object))
                try body(binding.isWhole ? RowDecoder($0.row(), binding) : RowDecoder($0, object.key, binding))
                return true
            } or: {
                read.append(judge.id(of: $0))
                try body(RowDecoder($1, binding))
                return true
            }
        }
        return read.positionsInOrder
    }
}

/// The object ids of results as they were read, and whether they came in order.
private struct ReadOrder {
    private var ids: [ObjectID] = []
    private var isAscending = true

    mutating func reserve(_ count: Int) { ids.reserveCapacity(count) }

    @inline(__always)
    mutating func append(_ id: ObjectID) {
        if isAscending, let last = ids.last, id < last { isAscending = false }
        ids.append(id)
    }

    /// How to order what was read by object id: the positions in order. Nil if it is in order.
    var positionsInOrder: [Int]? { isAscending ? nil : ids.indices.sorted { ids[$0] < ids[$1] } }
}

extension ClientReading {
    /// The results of a query in this state, in order and within the limit.
    package func results(of query: Query) throws -> ResultList { try resultReader(query).results() }

    /// How many objects match a query in this state, whatever its limit; nil if it does not ask for its total, or the
    /// server has not said it yet.
    package func total(of query: Query) throws -> ShownTotal? { try resultReader(query).total() }

    /// What a query with AGGREGATE computes; see ``ResultReader/groups()``.
    package func groups(of query: Query) throws -> ShownGroups? { try resultReader(query).groups() }

    /// Makes the reader of a query's results in this state.
    ///
    /// - Parameters:
    ///   - isAlone: whether the store has no server.
    ///   - written: what the open transaction that reads has written; nil outside of one.
    func resultReader(
        _ query: Query, isAlone: Bool = false, written: WrittenObjects? = nil
    ) -> ResultReader {
        ResultReader(
            ResultMatcher(query, schema: schema, isAlone: isAlone), in: self,
            subscription: subscription(toQuery: query.hash), written: written)
    }
}
