package import SluiceModel

/// What a change must meet to concern a query, as far as the query's own words tell.
///
/// The query's results change only with changes of three kinds: of an object that is a result before or after, of an
/// object that a comparison finds at the end of links, or of something else that predicate and sort read. Each kind has
/// its conditions here, so that a change can be compared with many queries at once.
package struct QueryCover: Sendable {
    /// A condition that results may be known by.
    package enum Anchor: Hashable, Sendable {
        /// On the result itself.
        case own(RootCondition)
        /// On some object that links of the result lead to.
        case linked(LinkedCondition)
    }

    /// Ways to know results: each result meets at least one anchor of each list. The list that likely fewest objects meet
    /// comes first. Empty if anything may be a result.
    package let alternatives: [[Anchor]]
    /// Of objects at the end of links, those that meet one of these before or after a change can matter to comparisons.
    package let linked: [LinkedCondition]
    /// What else is read of objects behind links, by class: every such change may matter, and that an object comes or goes.
    package let others: [Int: PropertySet]

    /// More anchors than this are not worth their entries.
    private static let anchorCountMax = 64
    private static let alternativeCountMax = 4

    /// - Parameters:
    ///   - query: checked against `schema`.
    ///   - readsSort: whether a change of the order matters, as it does where not all matches are results.
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

    /// Ranges of one property that all must hold are one range.
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

    /// The most selective first; of equals the one that is written first.
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
