internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Decides whether an object is among the results of a query, and where.
///
/// A complete subscription shows the members that the server named, except those that a pending write deletes or makes
/// unmatching, plus objects with pending writes that match. In any other case the results are what matches on disk. If
/// a path needs an object that is not here, the query is not evaluated locally, and the server's membership counts.
struct ResultJudge {
    let query: Query
    private let evaluator: Evaluator
    private let schema: Schema
    /// Whether the store has no server, so that all objects that link to an object are here.
    private let isAlone: Bool

    /// - Parameter isAlone: whether the store has no server.
    init(_ query: Query, schema: Schema, isAlone: Bool) {
        self.query = query
        self.schema = schema
        self.isAlone = isAlone || query.namesLocalClass(in: schema)
        evaluator = Evaluator(query, schema: schema)
    }

    /// The judge of another form of the query, against a schema that has grown.
    func rebound(to query: Query, schema: Schema) -> ResultJudge {
        ResultJudge(query, schema: schema, isAlone: isAlone)
    }

    /// Whether an object that is here is among the results, regardless of the limit.
    ///
    /// - Parameters:
    ///   - subscription: the query's subscription, if there is one.
    ///   - state: the state that the row and the subscription are from.
    func includes(
        _ row: Row, _ object: ObjectRef, of subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> Bool {
        let isComplete = subscription?.isInForce ?? false
        if let id = query.object {
            guard Identity(className: className(of: object), key: object.key).objectID == id else { return false }
            return try !isComplete || state.hasPending(object) || isNamed(object, subscription, in: state)
        }
        guard object.classIndex == query.classIndex else { return false }
        if isComplete, try !state.hasPending(object) { return try isNamed(object, subscription, in: state) }
        guard try isJudgeable(row, of: subscription, in: state) else {
            return try isNamed(object, subscription, in: state)
        }
        return try evaluator.matches(row, in: state)
    }

    /// Whether the condition can be evaluated with what is here.
    func isJudgeable(_ row: Row, of subscription: SubscriptionRecord?, in state: any ObjectStanding) throws -> Bool {
        try evaluator.isJudgeable(row, in: state, trustsBacklinks: trustsBacklinks(of: subscription))
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
