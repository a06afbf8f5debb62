internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Finds how many objects match a query that asks for its total, whatever its limit.
extension ResultReader {
    /// The total; nil if the query asks for none, or the server has not said it yet.
    ///
    /// It is what the server has said last, and what pending writes make of that: for each object with pending writes,
    /// what matches now, without what matched in the server's image. Where no server answers the query, it is what
    /// matches of what is here.
    ///
    /// - Complexity: O(pending), or O(matches) where no server answers the query or it has no limit.
    func total() throws -> Int? {
        guard query.hasTotal else { return nil }
        guard query.countsMatches else { return try matchCount() }
        guard !judge.isAlone else { return try readerOfCondition.matchCount() }
        guard let said = subscription?.total else { return nil }
        return try said + pendingEffects().values.reduce(0, +)
    }

    /// The reader of everything that meets the condition, in the query's section or not.
    private var readerOfCondition: ResultReader {
        guard query.hasSection else { return self }
        return ResultReader(
            ResultMatcher(query.condition, schema: schema, isAlone: true), in: reader, subscription: nil)
    }

    /// By how much pending writes change the total, for each object because of which they do.
    func pendingEffects() throws -> [ObjectRef: Int] {
        var effects: [ObjectRef: Int] = [:]
        for object in try decidedHere(pendingObjects()) where object.classIndex == query.classIndex {
            let effect = try judge.effectOnTotal(object, of: subscription, in: state)
            if effect != 0 { effects[object] = effect }
        }
        return effects
    }
}

extension SubscriptionRecord {
    /// How many objects match the query, as the server has said last; nil if it has not.
    var total: Int? { if case .int(let total)? = figures?.first { Int(total) } else { nil } }
}
