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
    func total() throws -> ShownTotal? {
        guard query.hasTotal else { return nil }
        guard query.countsMatches else { return ShownTotal(count: try matchCount(), isExact: try isTotalCertain()) }
        guard !judge.isAlone else { return ShownTotal(count: try readerOfCondition.matchCount(), isExact: true) }
        guard let said = subscription?.total else { return nil }
        let effects = try pendingEffects()
        return ShownTotal(
            count: effects.values.reduce(said) { $0 + $1.change }, isExact: isInForce && effects.areCertain)
    }

    /// Whether the results of a query without a limit are all that there are.
    private func isTotalCertain() throws -> Bool {
        guard !judge.isAlone else { return true }
        return try isInForce && pendingEffects().areCertain
    }

    /// The reader of everything that meets the condition, in the query's section or not.
    private var readerOfCondition: ResultReader {
        guard query.hasSection else { return self }
        return ResultReader(
            ResultMatcher(query.condition, schema: schema, isAlone: true), in: reader, subscription: nil)
    }

    /// What pending writes do to the total, for each object because of which they do.
    func pendingEffects() throws -> [ObjectRef: TotalEffect] {
        var effects: [ObjectRef: TotalEffect] = [:]
        let pending = try pendingObjects()
        let counted = try judge.countedBehindLinks(pending, of: subscription, in: state).union(pending)
        for object in counted where object.classIndex == query.classIndex {
            let effect = try judge.effectOnTotal(object, of: subscription, in: state)
            if effect != .none { effects[object] = effect }
        }
        for object in try judge.concerningUnseen(pending, in: state) {
            effects[object, default: .none].isCertain = false
        }
        return effects
    }
}

extension [ObjectRef: TotalEffect] {
    /// Whether the total is known with all of them.
    var areCertain: Bool { values.allSatisfy(\.isCertain) }
}

extension SubscriptionRecord {
    /// How many objects match the query, as the server has said last; nil if it has not.
    var total: Int? { if case .int(let total)? = figures?.first { Int(total) } else { nil } }
}
