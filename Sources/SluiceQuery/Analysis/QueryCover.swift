package import SluiceModel

/// Conditions that every change that concerns a query meets, derived from the query alone.
///
/// Three kinds of changes can change the query's results: of an object that is a result before or after the change, of
/// a linked object that a comparison reads, and of any other object that the predicate or the sort reads. Each kind has
/// its conditions here, so that an index of them finds the queries that a change concerns.
package struct QueryCover: Sendable {
    /// A condition that results meet.
    package enum Anchor: Hashable, Sendable {
        /// A condition on the result itself.
        case own(RootCondition)
        /// A condition that some object meets that links of the result lead to.
        case linked(LinkedCondition)
    }

    /// Covers of the results: each result meets at least one anchor of each list. The most selective list comes first.
    /// Empty if every object may be a result.
    package let alternatives: [[Anchor]]
    /// Conditions on linked objects: a change of an object that meets one of them, before or after, can alter whether a
    /// comparison holds.
    package let linked: [LinkedCondition]
    /// The properties of linked objects that the predicate and the sort read without such a condition, by class. Every
    /// change of them can change the results, and so can every creation and deletion of an object of the class.
    package let others: [Int: PropertySet]

    /// The most anchors of one list; a longer list would need too many entries in an index.
    private static let anchorCountMax = 64
    private static let alternativeCountMax = 4

    /// - Parameters:
    ///   - query: checked against `schema`.
    ///   - readsSort: whether a change of the order can change the results, as it does if not all matches are results.
    package init(_ query: Query, schema: Schema, readsSort: Bool) {
        var linked: [LinkedCondition] = []
        var others: [Int: PropertySet] = [:]
        func read(_ dependencies: QueryDependencies) {
            for path in dependencies.linkPaths { others[path.targetClass, default: []].formUnion(path.properties) }
        }
        query.predicate.forEachComparison { comparison in
            if let condition = LinkedCondition(mattering: comparison) {
                linked.append(condition)
            } else {
                read(QueryDependencies(paths: comparison.paths))
            }
        }
        if readsSort { read(query.sortDependencies) }
        self.linked = linked
        self.others = others
        guard query.object == nil else {
            alternatives = []
            return
        }
        let key = schema[query.classIndex].primaryKeyIndex
        alternatives = Array(Self.alternatives(of: query.predicate, key: key).prefix(Self.alternativeCountMax))
    }

    private static func alternatives(of predicate: Query.Predicate, key: Int?) -> [[Anchor]] {
        switch predicate {
        case .constant, .not: return []
        case .comparison(let comparison): return anchor(of: comparison).map { [[$0]] } ?? []
        case .and(let operands):
            return sorted(joiningRanges(operands.flatMap { alternatives(of: $0, key: key) }), key: key)
        case .or(let operands):
            let fixed = RootCondition.conditions(ofAlternatives: operands).map { [Anchor.own($0)] }
            guard fixed.isEmpty else { return sorted(fixed, key: key) }
            var anchors: [Anchor] = []
            var known: Set<Anchor> = []
            for operand in operands {
                guard let best = alternatives(of: operand, key: key).first else { return [] }
                for anchor in best where known.insert(anchor).inserted { anchors.append(anchor) }
                if anchors.count > anchorCountMax { return [] }
            }
            return [anchors]
        }
    }

    private static func anchor(of comparison: Query.Comparison) -> Anchor? {
        if let condition = RootCondition(comparison) { return .own(condition) }
        return LinkedCondition(comparison).map { .linked($0) }
    }

    /// Replaces ranges of the same property, all of which results meet, by their intersection.
    private static func joiningRanges(_ alternatives: [[Anchor]]) -> [[Anchor]] {
        var joined: [[Anchor]] = []
        var places: [Int: Int] = [:]
        for alternative in alternatives {
            guard alternative.count == 1, case .own(let condition) = alternative[0],
                case .range(let range) = condition.test
            else {
                joined.append(alternative)
                continue
            }
            let property = condition.property
            guard let place = places[property], case .own(let other) = joined[place][0],
                case .range(let known) = other.test
            else {
                places[property] = joined.count
                joined.append(alternative)
                continue
            }
            joined[place] = [.own(RootCondition(property: property, .range(known.intersection(range))))]
        }
        return joined
    }

    /// Sorts the most selective list first; equally selective lists keep their order in the query.
    private static func sorted(_ alternatives: [[Anchor]], key: Int?) -> [[Anchor]] {
        func rank(_ anchors: [Anchor]) -> Int {
            anchors.reduce(0) { rank, anchor in
                switch anchor {
                case .own(let condition):
                    Swift.max(rank, condition.breadth * 3 + (condition.property == key ? 0 : 1))
                case .linked(let linked): Swift.max(rank, linked.condition.breadth * 3 + 2)
                }
            }
        }
        return alternatives.enumerated()
            .sorted {
                (rank($0.element), $0.element.count, $0.offset) < (rank($1.element), $1.element.count, $1.offset)
            }
            .map(\.element)
    }
}
