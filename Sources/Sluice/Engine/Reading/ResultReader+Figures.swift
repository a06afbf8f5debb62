internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Computes what a query with AGGREGATE asks for.
extension ResultReader {
    /// The groups; nil unless the query has AGGREGATE.
    ///
    /// They are what the server has said last, and what pending writes make of that. Where no server answers the query, and
    /// before it has, they are computed of what is here. The figures of a query that nobody observes are not exact: others
    /// may have changed them since, and so may writes of this store that the server has confirmed.
    ///
    /// - Complexity: O(groups + pending), or O(matches) where they are computed of what is here.
    func groups() throws -> ShownGroups? {
        guard let aggregates = query.aggregates else { return nil }
        guard !judge.isAlone, let said = subscription?.figures.flatMap(aggregates.groups) else {
            return ShownGroups(of: try figureTable(aggregates), isAll: judge.isAlone)
        }
        return ShownGroups(
            aggregates, said: said, changedBy: try figureEffects().values,
            isCurrent: try isInForce && judge.concerningUnseen(pendingObjects(), in: state).isEmpty)
    }

    /// What is computed of the objects that are here.
    func figureTable(_ aggregates: Query.Aggregates) throws -> FigureTable {
        let everything = ResultReader(
            ResultMatcher(query.condition, schema: schema, isAlone: true), in: reader, subscription: nil,
            written: written)
        var table = FigureTable(aggregates)
        func add(_ values: [Value]) throws {
            do throws(FigureError) { try table.add(values) } catch {
                throw QueryError(.limitExceeded, error.message, at: nil)
            }
        }
        if written == nil {
            try reader.figureRows(of: query, judge.evaluator, add)
        } else {
            try everything.forEachResult { _, row in try add(judge.figureValues(of: row, in: state)) }
        }
        table.settle()
        return table
    }

    /// What pending writes change, for each object because of which they do.
    func figureEffects() throws -> [ObjectRef: FigureEffect] {
        var effects: [ObjectRef: FigureEffect] = [:]
        for object in try decidedHere(pendingObjects()) where object.classIndex == query.classIndex {
            effects[object] = try judge.effectOnFigures(object, of: subscription, in: state)
        }
        return effects
    }
}

extension ResultMatcher {
    /// What an object that matches has that the query computes with.
    func figureValues(of row: Row, in source: any ObjectSource) throws -> [Value] {
        try evaluator.sortValues(of: row, in: source)
    }

    /// What an object has that the query computes with; nil if it does not match.
    func matchedValues(of row: Row?, in source: any ObjectSource) throws -> [Value]? {
        guard let row, try evaluator.matches(row, in: source) else { return nil }
        return try evaluator.sortValues(of: row, in: source)
    }

    /// What pending writes change of what the query computes, because of one object: what it has with them, and what it
    /// had in the server's image; nil if that is the same.
    ///
    /// - Parameter object: one with pending writes, or from which the query's paths lead to one.
    func effectOnFigures(
        _ object: ObjectRef, of subscription: SubscriptionRecord?, in state: any ObjectStanding
    ) throws -> FigureEffect? {
        let unwritten = UnwrittenObjects(state)
        let (now, was) = (try state.row(object), try unwritten.row(object))
        func isKnown(_ row: Row?, in source: any ObjectSource) throws -> Bool {
            guard let row else { return true }
            return try isJudgeable(row, of: subscription, in: source)
                && hasAllLinked(row, by: query.dependencies, in: source)
        }
        guard try isKnown(now, in: state), try isKnown(was, in: unwritten) else { return .unknown }
        let values = try matchedValues(of: now, in: state)
        guard was != nil || !mayBeElsewhere(object) else { return values.map { .guess(now: $0) } ?? .unknown }
        let former = try matchedValues(of: was, in: unwritten)
        return former == values ? nil : .move(was: former, now: values)
    }
}
