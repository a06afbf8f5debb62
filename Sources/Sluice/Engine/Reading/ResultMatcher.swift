internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Decides whether an object is among the results of a query, and where.
///
/// A complete subscription shows the members that the server named, except those that a pending write deletes or makes
/// unmatching, plus objects that match by a pending write: of their own, or of an object that the condition reads behind
/// links (``LinkedWrites``). A write behind links decides only if the condition would say otherwise without the pending
/// writes: where it says the same, and something else than the server, the server knows more than this store. In any
/// other case the results are what matches on disk. If a path needs an object that is not here, the query is not
/// evaluated locally, and the server's membership counts.
struct ResultMatcher {
    let query: Query
    let evaluator: Evaluator
    /// What judges the condition alone, where that is not what makes a match.
    private let conditionEvaluator: Evaluator?
    private let linkedWrites: LinkedWrites
    /// The links that what is computed over all matches depends on.
    private let countedLinks: LinkedWrites
    private let schema: Schema
    /// Whether the store has no server, so that all objects that link to an object are here.
    let isAlone: Bool

    /// - Parameter isAlone: whether the store has no server.
    init(_ query: Query, schema: Schema, isAlone: Bool) {
        self.query = query
        self.schema = schema
        self.isAlone = isAlone || query.namesLocalClass(in: schema)
        evaluator = Evaluator(query, schema: schema)
        conditionEvaluator =
            query.countsMatches && query.hasSection ? Evaluator(query.condition, schema: schema) : nil
        linkedWrites = LinkedWrites(query)
        countedLinks = query.hasTotal && linkedWrites.isPossible ? LinkedWrites(query.condition) : linkedWrites
    }

    /// The judge of another form of the query, against a schema that has grown.
    func rebound(to query: Query, schema: Schema) -> ResultMatcher {
        ResultMatcher(query, schema: schema, isAlone: isAlone)
    }

    /// Whether an object is among the results, and who says so.
    struct Decision {
        let isResult: Bool
        /// Whether pending writes of linked objects decide against what the server has named.
        let isOverruled: Bool
    }

    /// Decides whether an object that is here is among the results, regardless of the limit.
    ///
    /// - Parameters:
    ///   - subscription: the query's subscription, if there is one.
    ///   - state: the state that the row and the subscription are from.
    func decide(
        _ row: Row, _ object: ObjectRef, of subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> Decision {
        let isComplete = isInForce(subscription, in: state)
        if let id = query.object {
            guard Identity(className: className(of: object), key: object.key).objectID == id else { return .no }
            return Decision(
                isResult: try !isComplete || state.hasPending(object) || isNamed(object, subscription, in: state),
                isOverruled: false)
        }
        guard object.classIndex == query.classIndex else { return .no }
        let isServers = try isComplete && !state.hasPending(object)
        if isServers, try !isDecidedBehindLinks(row, of: subscription, in: state) {
            return Decision(isResult: try isNamed(object, subscription, in: state), isOverruled: false)
        }
        guard try isJudgeable(row, of: subscription, in: state) else {
            return Decision(isResult: try isNamed(object, subscription, in: state), isOverruled: false)
        }
        let isResult = try evaluator.matches(row, in: state)
        guard isServers, try isResult != isNamed(object, subscription, in: state) else {
            return Decision(isResult: isResult, isOverruled: false)
        }
        let isDecisive = try isAlone || evaluator.matches(row, in: UnwrittenObjects(state)) != isResult
        return Decision(isResult: isResult == isDecisive, isOverruled: isDecisive)
    }

    /// Whether the server's answer decides: it is here and kept current, also by the time.
    func isInForce(_ subscription: SubscriptionRecord?, in state: any ObjectStanding) -> Bool {
        (subscription?.isInForce ?? false) && !(query.readsTime && state.isTimeOwn)
    }

    /// Whether an object that is here is among the results, regardless of the limit; as ``decide(_:_:of:in:)`` says.
    func includes(
        _ row: Row, _ object: ObjectRef, of subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> Bool { try decide(row, object, of: subscription, in: state).isResult }

    /// Whether pending writes of linked objects may decide whether an object is a result, whatever the server named.
    func isDecidedBehindLinks(
        _ row: Row, of subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> Bool { try mayReadLinks(of: subscription) && linkedWrites.reach(row, in: state) }

    /// The objects that pending writes of linked objects may decide about, whatever the server named.
    ///
    /// - Parameter pending: the objects with pending writes.
    func decidedBehindLinks(
        _ pending: some Sequence<ObjectRef>, of subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> Set<ObjectRef> {
        try mayReadLinks(of: subscription) ? linkedWrites.roots(of: pending, in: state) : []
    }

    /// The objects because of which pending writes of linked objects may change what is computed over all matches. What
    /// only the order reads does not count for a total.
    ///
    /// - Parameter pending: the objects with pending writes.
    func countedBehindLinks(
        _ pending: some Sequence<ObjectRef>, of subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> Set<ObjectRef> { canJudge(for: subscription) ? try countedLinks.roots(of: pending, in: state) : [] }

    /// Whether the query reads linked objects, and all that it reads may be here.
    private func mayReadLinks(of subscription: SubscriptionRecord?) -> Bool {
        linkedWrites.isPossible && canJudge(for: subscription)
    }

    /// Whether there are objects that can be judged here: none for a query that follows links backwards, where objects
    /// that link to another may be missing.
    func canJudge(for subscription: SubscriptionRecord?) -> Bool {
        trustsBacklinks(of: subscription) || !query.dependencies.readsBacklinks
    }

    /// Whether the condition can be evaluated with what is here.
    func isJudgeable(_ row: Row, of subscription: SubscriptionRecord?, in state: any ObjectSource) throws -> Bool {
        try evaluator.isJudgeable(row, in: state, trustsBacklinks: trustsBacklinks(of: subscription))
    }

    /// Whether an object counts for the query's total: whether it meets the condition, in the query's section or not.
    func counts(_ row: Row, in source: any ObjectSource) throws -> Bool {
        try (conditionEvaluator ?? evaluator).matches(row, in: source)
    }

    /// What pending writes do to how many objects match, because of one object: what matches with them, without what
    /// matched in the server's image. It is not certain where one of the two cannot be judged here, where the condition
    /// reads an object that is not here, and where the server may have an object that is not.
    ///
    /// - Parameter object: one with pending writes, or from which the query's paths lead to one.
    func effectOnTotal(
        _ object: ObjectRef, of subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> TotalEffect {
        var effect = TotalEffect()
        func isMatch(_ row: Row?, in source: any ObjectSource) throws -> Int? {
            guard let row else { return 0 }
            guard try evaluator.isJudgeable(row, in: source, trustsBacklinks: trustsBacklinks(of: subscription)) else {
                return nil
            }
            if try !hasAllLinked(row, by: query.predicateDependencies, in: source) { effect.isCertain = false }
            return try counts(row, in: source) ? 1 : 0
        }
        let unwritten = UnwrittenObjects(state)
        let image = try unwritten.row(object)
        guard let now = try isMatch(state.row(object), in: state), let was = try isMatch(image, in: unwritten) else {
            return TotalEffect(change: 0, isCertain: false)
        }
        effect.change = now - was
        // Without a limit all matches are here, so that one that is not does not match on the server.
        if image == nil, query.isPartial, mayBeElsewhere(object) { effect.isCertain = false }
        return effect
    }

    /// Whether the server may have an object that this store had not when it wrote it. One without a primary key has an id
    /// that nobody else gives.
    func mayBeElsewhere(_ object: ObjectRef) -> Bool { if case .id = object.key { false } else { true } }

    /// Those of some objects with pending writes that may change what is computed over all matches because of objects that
    /// are not here and link to them.
    func concerningUnseen(
        _ pending: some Sequence<ObjectRef>, in state: any ObjectStanding
    ) throws -> [ObjectRef] { isAlone ? [] : try countedLinks.readByOthers(pending, in: state) }

    /// Whether all objects are here that some paths lead to from an object. Those that are missing may be on the server.
    func hasAllLinked(_ row: Row, by dependencies: QueryDependencies, in source: any ObjectSource) throws -> Bool {
        func leadsOn(_ links: ArraySlice<QueryDependencies.Link>, from row: Row) throws -> Bool {
            guard let link = links.first else { return true }
            guard !link.isBacklink else { return false }
            return try !row.values[link.property].anyLink { key in
                guard let target = try source.row(ObjectRef(link.targetClass, key)) else { return true }
                return try !leadsOn(links.dropFirst(), from: target)
            }
        }
        return try isAlone || dependencies.linkPaths.allSatisfy { try leadsOn($0.links[...], from: row) }
    }

    /// The properties that a row must have for the condition to be evaluated; nil where that depends on other objects,
    /// too.
    func neededProperties(of subscription: SubscriptionRecord?) -> PropertySet? {
        evaluator.neededProperties(trustsBacklinks: trustsBacklinks(of: subscription))
    }

    /// Without a subscription, the query is over everything on disk, so backlinks are complete.
    private func trustsBacklinks(of subscription: SubscriptionRecord?) -> Bool { subscription == nil || isAlone }

    /// Whether the server named the object as a result.
    func isNamed(
        _ object: ObjectRef, _ subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> Bool {
        guard let subscription else { return false }
        return try state.isMember(object, of: subscription.id, role: .root)
    }

    func id(of object: ObjectRef) -> ObjectID {
        if case .id(let own) = object.key { return own }
        return Identity(className: className(of: object), key: object.key).objectID
    }

    /// - Parameter isPending: whether writes of the object are pending.
    func entry(
        _ object: ObjectRef, _ row: Row, isPending: Bool = false, in state: any ObjectStanding
    ) throws -> ResultEntry {
        let id = id(of: object)
        let values = query.positionPaths.isEmpty ? [] : try evaluator.sortValues(of: row, in: state)
        return ResultEntry(
            object: object, position: SortPosition(values: values, id: id), row: row, isPending: isPending)
    }

    private func className(of object: ObjectRef) -> String { schema[object.classIndex].name }
}

extension Query {
    /// Whether the query is over a class that does not sync. False for a query of one object by its id, which may be of
    /// any class.
    func namesLocalClass(in schema: Schema) -> Bool { object == nil && schema[classIndex].isLocal }
}

extension SubscriptionRecord {
    /// Whether the server's answer is here and kept current.
    var isInForce: Bool { !isDormant && state == .complete }
}

extension ResultMatcher.Decision {
    fileprivate static let no = Self(isResult: false, isOverruled: false)
}
