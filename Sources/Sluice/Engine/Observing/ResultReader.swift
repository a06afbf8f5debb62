internal import SluiceModel
package import SluiceQuery
package import SluiceStorage
package import SluiceViews

/// Computes a query's results in one state of the store.
///
/// A complete subscription shows the members that the server named, except those that a pending write deletes or makes
/// unmatching, plus objects with pending writes that match. In any other case the results are what matches on disk. If
/// a path needs an object that is not here, the query is not evaluated locally, and the server's membership counts.
struct ResultReader {
    let query: Query
    private let evaluator: Evaluator
    private let reader: any ClientReading
    /// Where objects are judged: the reader, or what shares the reading among several queries.
    private let objects: any ObjectStanding
    private let subscription: SubscriptionRecord?
    /// Whether the store has no server, so that all objects that link to an object are here.
    private let isAlone: Bool

    /// - Parameters:
    ///   - reader: the state to read.
    ///   - objects: the same state, where it knows already what was read of objects; nil for the reader itself.
    ///   - subscription: the query's subscription in that state, if there is one.
    ///   - isAlone: whether the store has no server.
    init(
        _ query: Query, evaluator: Evaluator, in reader: any ClientReading,
        judging objects: (any ObjectStanding)? = nil, subscription: SubscriptionRecord?, isAlone: Bool
    ) {
        self.query = query
        self.evaluator = evaluator
        self.reader = reader
        self.objects = objects ?? reader
        self.subscription = subscription
        self.isAlone = isAlone
    }

    private var isComplete: Bool { subscription.map { !$0.isDormant && $0.state == .complete } ?? false }

    /// Whether an object that is here is among the results, regardless of the limit.
    func includes(_ row: Row, _ object: ObjectRef) throws -> Bool {
        if let id = query.object {
            guard Identity(className: className(of: object), key: object.key).objectID == id else { return false }
            return try !isComplete || objects.hasPending(object) || isNamed(object)
        }
        guard object.classIndex == query.classIndex else { return false }
        if isComplete, try !objects.hasPending(object) { return try isNamed(object) }
        guard try isJudgeable(row) else { return try isNamed(object) }
        return try evaluator.matches(row, in: objects)
    }

    private func isJudgeable(_ row: Row) throws -> Bool {
        // Without a subscription, the query is over everything on disk, so backlinks are complete.
        try evaluator.isJudgeable(row, in: objects, trustsBacklinks: subscription == nil || isAlone)
    }

    private func isNamed(_ object: ObjectRef) throws -> Bool {
        guard let subscription else { return false }
        return try objects.isMember(object, of: subscription.id, role: .root)
    }

    /// Calls `body` with every result, regardless of the limit, in no particular order.
    func forEachResult(_ body: (ObjectRef, Row) throws -> Void) throws {
        if let id = query.object {
            guard let object = try reader.findObject(id), let row = try reader.row(object),
                try includes(row, object)
            else { return }
            return try body(object, row)
        }
        func visit(_ object: ObjectRef) throws {
            guard let row = try reader.row(object), try includes(row, object) else { return }
            try body(object, row)
        }
        if isComplete, let subscription {
            try reader.forEachMemberRow(of: subscription.id, role: .root) { object, row in
                // Members without pending writes need no evaluation.
                if try !reader.hasPending(object) || includes(row, object) { try body(object, row) }
                return true
            }
            for object in try reader.pendingObjects where object.classIndex == query.classIndex {
                if try !isNamed(object) { try visit(object) }
            }
            return
        }
        var seen: Set<ObjectRef> = []
        try reader.forEachRow(matching: query) { row in
            let object = ObjectRef(query.classIndex, row.key)
            // The SQL statement has evaluated the condition already.
            guard try isJudgeable(row) || isNamed(object) else { return true }
            if subscription != nil { seen.insert(object) }
            try body(object, row)
            return true
        }
        guard let subscription, reader.memberCount(of: subscription.id, role: .root) > 0 else { return }
        try reader.forEachMember(of: subscription.id, role: .root) { object in
            if !seen.contains(object) { try visit(object) }
            return true
        }
    }

    /// All results in order, within the limit.
    func results() throws -> ResultList {
        let order = SortOrder(query.sort)
        guard query.stages.isEmpty else { return ResultList(order: order, limit: nil, entries: try staged()) }
        return ResultList(order: order, limit: query.limit, entries: try entries())
    }

    /// The results that the query's stages leave, in order.
    private func staged() throws -> [ResultEntry] {
        query.results(among: try entries(), values: \.position.values, id: \.position.id)
    }

    /// All results in order, within the limit, without the list that observing would need.
    func sortedEntries() throws -> ArraySlice<ResultEntry> {
        guard query.stages.isEmpty else { return try staged()[...] }
        var entries = try entries()
        SortOrder(query.sort).sort(&entries)
        return entries.prefix(query.limit ?? .max)
    }

    /// The number of results, at most the limit.
    func count() throws -> Int {
        guard query.stages.isEmpty else { return try staged().count }
        var count = 0
        try forEachResult { _, _ in count += 1 }
        return min(count, query.limit ?? .max)
    }

    /// All matches, regardless of limit and stages.
    func entries() throws -> [ResultEntry] {
        var entries: [ResultEntry] = []
        try forEachResult { object, row in entries.append(try entry(object, row)) }
        return entries
    }

    /// All results of a query without sort, limit and stages, decoded and ordered by object id.
    func elements<Element: ResultElement>(_ type: Element.Type, _ binding: ElementBinding) throws -> [Element] {
        var elements: [Element] = []
        var ids: [ObjectID] = []
        var isInOrder = true
        try forEachResult { object, row in
            let id = id(of: object)
            if let last = ids.last, id < last { isInOrder = false }
            ids.append(id)
            elements.append(try Element.decode(row, binding))
        }
        if isInOrder { return elements }
        return ids.indices.sorted { ids[$0] < ids[$1] }.map { elements[$0] }
    }

    private func id(of object: ObjectRef) -> ObjectID {
        if case .id(let own) = object.key { return own }
        return Identity(className: className(of: object), key: object.key).objectID
    }

    func entry(_ object: ObjectRef, _ row: Row) throws -> ResultEntry {
        let id = id(of: object)
        let values = query.positionPaths.isEmpty ? [] : try evaluator.sortValues(of: row, in: objects)
        let position = SortPosition(values: values, id: id)
        return ResultEntry(object: object, position: position, row: row)
    }

    private func className(of object: ObjectRef) -> String { reader.schema[object.classIndex].name }
}

extension ClientReading {
    /// The results of a query in this state, in order and within the limit.
    package func results(of query: Query) throws -> ResultList { try resultReader(query).results() }

    /// Makes the reader of a query's results in this state.
    ///
    /// - Parameter isAlone: whether the store has no server.
    func resultReader(_ query: Query, isAlone: Bool = false) -> ResultReader {
        let subscription = subscription(toQuery: query.hash)
        let evaluator = Evaluator(query, schema: schema)
        return ResultReader(query, evaluator: evaluator, in: self, subscription: subscription, isAlone: isAlone)
    }
}
