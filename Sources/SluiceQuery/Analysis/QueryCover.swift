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
        /// A condition on a value that is computed from the result and what it is linked with.
        case derived(DerivedCondition)
    }

    /// Covers of the results: each result meets at least one anchor of each list. The most selective list comes first.
    /// Empty if every object may be a result.
    package let alternatives: [[Anchor]]
    /// Conditions on linked objects: a change of an object that meets one of them, before or after, can alter whether a
    /// comparison holds.
    package let linked: [LinkedCondition]
    /// Conditions on computed values: a change of a linked object can alter whether a comparison holds for a result
    /// only if the value meets the condition before or after.
    package let derived: [DerivedCondition]
    /// The linked objects that the predicate and the sort read without such a condition. Every change of them can change
    /// the results, and so can every creation and deletion of such an object.
    package let others: [QueryDependencies.LinkPath]

    /// Which values conditions may be on that are computed.
    package enum ComputedValues {
        /// All of them.
        case all
        /// Those that are computed from the properties of the object itself.
        case ofTheObject
        case none
    }

    /// The most anchors of one list; a longer list would need too many entries in an index.
    private static let anchorCountMax = 64
    private static let alternativeCountMax = 4

    /// - Parameters:
    ///   - query: checked against `schema`.
    ///   - readsSort: whether a change of the order can change the results, as it does if not all matches are results.
    ///   - computed: which conditions on computed values count. They do not where parts of what a value is computed
    ///     from may be missing, as on a client.
    package init(_ query: Query, schema: Schema, readsSort: Bool, computed: ComputedValues = .all) {
        var linked: [LinkedCondition] = []
        var derived: [DerivedCondition] = []
        var others: [QueryDependencies.LinkPath] = []
        func read(_ dependencies: QueryDependencies, except covered: [QueryDependencies.Link] = []) {
            for path in dependencies.linkPaths where !covered.starts(with: path.links) {
                if let known = others.firstIndex(where: { $0.links == path.links }) {
                    others[known].properties.formUnion(path.properties)
                } else {
                    others.append(path)
                }
            }
        }
        // Values are computed from what the index reads, which is not what the query's reader sees.
        var computed = computed
        if case .all = computed, !query.context.isEverything { computed = .ofTheObject }
        let veiled = PropertySet(query.context.veiledLinks(ofClass: query.classIndex).map(\.property))
        let mayBeComputed = { (condition: DerivedCondition) in
            switch computed {
            case .all: true
            case .ofTheObject:
                condition.dependencies.linkPaths.isEmpty && !condition.dependencies.rootProperties.meets(veiled)
            case .none: false
            }
        }
        query.readablePredicate.forEachComparison { comparison in
            if let condition = LinkedCondition(mattering: comparison, schema: schema) {
                linked.append(condition)
                return
            }
            let dependencies = QueryDependencies(paths: comparison.paths)
            if dependencies.linkPaths.isEmpty { return }
            if let conditions = LinkedCondition.conditions(mattering: comparison), case .constant = comparison.right {
                linked += conditions
                read(dependencies, except: conditions[0].links)
            } else if let condition = DerivedCondition(mattering: comparison), mayBeComputed(condition) {
                derived.append(condition)
            } else {
                read(dependencies)
            }
        }
        if readsSort || query.hasSection { read(query.sortDependencies) }
        self.linked = linked
        self.derived = derived
        self.others = others
        guard query.object == nil else {
            alternatives = []
            return
        }
        let key = schema[query.classIndex].primaryKeyIndex
        let found = Self.alternatives(of: query.readablePredicate, key: key, schema, mayBeComputed)
        // Matches in the section, and where matches are counted also the others.
        let section = query.countsMatches ? nil : query.sectionCondition.map { [Anchor.own($0)] }
        alternatives = Array(found.prefix(Self.alternativeCountMax)) + (section.map { [$0] } ?? [])
    }

    private static func alternatives(
        of predicate: Query.Predicate, key: Int?, _ schema: Schema, _ mayBeComputed: (DerivedCondition) -> Bool
    ) -> [[Anchor]] {
        var found = RootCondition.conditions(of: predicate).map { [Anchor.own($0)] }
        let operands: [Query.Predicate] = if case .and(let operands) = predicate { operands } else { [predicate] }
        for operand in operands {
            switch operand {
            case .constant, .not, .and: break
            case .comparison(let comparison):
                if RootCondition(comparison) != nil { continue }
                if let linked = LinkedCondition(comparison, schema: schema) {
                    found.append([.linked(linked)])
                } else if let conditions = LinkedCondition.conditions(comparison) {
                    found.append(conditions.map { .linked($0) })
                } else if let derived = DerivedCondition(comparison), mayBeComputed(derived) {
                    found.append([.derived(derived)])
                }
            case .or(let branches):
                if RootCondition.conditions(ofAlternatives: branches).isEmpty,
                    let anchors = anchors(ofBranches: branches, key: key, schema, mayBeComputed)
                {
                    found.append(anchors)
                }
            }
        }
        return sorted(found, key: key)
    }

    /// Anchors of which an object meets one if one of the branches holds for it.
    private static func anchors(
        ofBranches branches: [Query.Predicate], key: Int?, _ schema: Schema, _ mayBeComputed: (DerivedCondition) -> Bool
    ) -> [Anchor]? {
        var anchors: [Anchor] = []
        var known: Set<Anchor> = []
        for branch in branches {
            guard let best = alternatives(of: branch, key: key, schema, mayBeComputed).first else { return nil }
            for anchor in best where known.insert(anchor).inserted { anchors.append(anchor) }
            if anchors.count > anchorCountMax { return nil }
        }
        return anchors
    }

    /// Sorts the most selective list first; equally selective lists keep their order in the query. A condition behind a
    /// link comes after a condition of the same kind on the object itself.
    private static func sorted(_ alternatives: [[Anchor]], key: Int?) -> [[Anchor]] {
        func rank(_ anchors: [Anchor]) -> Int {
            anchors.reduce(0) { rank, anchor in
                switch anchor {
                case .own(let condition): max(rank, condition.rank(key: key) * 2)
                case .linked(let linked): max(rank, linked.condition.rank(key: nil) * 2 + 1)
                case .derived(let derived): max(rank, derived.test.breadth * 4 + 3)
                }
            }
        }
        return alternatives.enumerated()
            .map { (rank: (rank($0.element), $0.element.count, $0.offset), anchors: $0.element) }
            .sorted { $0.rank < $1.rank }
            .map(\.anchors)
    }
}
