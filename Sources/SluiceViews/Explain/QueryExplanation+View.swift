package import SluiceModel
package import SluiceQuery

extension QueryExplanation {
    /// Explains a query. It makes a view, but does not activate it, and reads no data.
    ///
    /// - Parameters:
    ///   - plan: how the store at hand runs the query; nil where there is nothing to run.
    ///   - totalPlan: how it counts what matches; nil unless the query has TOTAL.
    ///   - wantedIndexes: the indexes that a server would add.
    ///   - wantedIndexRemark: why the server has not added them.
    package init(
        _ query: Query, schema: Schema, plan: Plan?, totalPlan: Plan?, wantedIndexes: [Index],
        wantedIndexRemark: String? = nil
    ) {
        let live = LiveView(query, schema: schema)
        self.query = query.canonicalText
        hash = query.hash.description
        self.plan = plan
        self.totalPlan = totalPlan
        view = View(live)
        writes = live.shape.concernedProperties.keys.sorted {
            $0 == query.classIndex || $1 != query.classIndex && $0 < $1
        }
        .flatMap { classIndex in
            schema[classIndex].properties.indices.map { property in
                WriteCost(
                    className: schema[classIndex].name, property: schema[classIndex].properties[property].name,
                    effects: live.effects(ofWriting: property, ofClass: classIndex))
            }
        }
        self.wantedIndexes = wantedIndexes
        self.wantedIndexRemark = wantedIndexRemark
    }
}

extension QueryExplanation.View {
    fileprivate init(_ live: LiveView) {
        let schema = live.schema
        let filing = Filing(live, upTo: live.windowEnd)
        let anchors = filing.covers.first ?? []
        method = Self.method(of: anchors)
        property =
            if anchors.count == 1, case .own(let condition) = anchors[0] {
                schema[live.query.classIndex].properties[condition.property].name
            } else {
                nil
            }
        condition = anchors.isEmpty ? nil : anchors.map { $0.text(of: live) }.joined(separator: " OR ")
        let others = Set(filing.classes.map(\.classIndex) + filing.chains.map(\.targetClass))
        otherClasses = others.subtracting([live.query.classIndex]).sorted().map { schema[$0].name }
        holdsMembers = live.holdsMembers
        let aggregates = live.query.aggregates
        let limit = aggregates == nil && !live.query.showsNothing ? live.query.limit : nil
        windowCapacity = limit.map { WindowSurplus(limit: $0).capacity }
        counts = live.query.hasTotal ? true : nil
        computes = aggregates?.names
        groups = aggregates.flatMap { $0.isGrouped ? $0.groups.map(\.text) : nil }
        linkedClasses = live.plan.linkedClasses.sorted().map { schema[$0].name }
    }
}

extension QueryExplanation.View {
    private static func method(of anchors: [QueryCover.Anchor]) -> Method {
        guard let anchor = anchors.first else { return .scan }
        guard anchors.count == 1 else { return .alternatives }
        let condition: RootCondition
        switch anchor {
        case .linked: return .link
        case .derived: return .computed
        case .own(let own): condition = own
        }
        return switch condition.test {
        case .equal: .equality
        case .isIn: .list
        case .prefix: .prefix
        case .suffix, .part: .part
        case .range: .range
        }
    }
}

extension QueryCover.Anchor {
    fileprivate func text(of live: LiveView) -> String {
        switch self {
        case .own(let condition): condition.text(in: live.schema[live.query.classIndex])
        case .linked(let condition): condition.text(in: live.schema)
        case .derived(let condition): condition.text
        }
    }
}

extension LiveView {
    /// What a write to one property of an object makes the view do.
    fileprivate func effects(ofWriting property: Int, ofClass classIndex: Int) -> [QueryExplanation.Effect] {
        var effects: [QueryExplanation.Effect] = []
        if classIndex == query.classIndex {
            if query.predicateDependencies.rootProperties.contains(property) { effects.append(.evaluatesPredicate) }
            if query.aggregates != nil, query.sortDependencies.rootProperties.contains(property) {
                effects.append(.computesFigure)
            }
            if query.limit != nil, query.aggregates == nil, !query.showsNothing,
                query.sortDependencies.rootProperties.contains(property)
            {
                effects.append(.movesInWindow)
            }
        }
        let read = query.limit == nil ? query.predicateDependencies : query.dependencies
        if read.linkPaths.contains(where: { $0.targetClass == classIndex && $0.properties.contains(property) }) {
            effects.append(.findsRoots)
        }
        let states = plan.states.filter { $0.classIndex == classIndex }
        if states.contains(where: { $0.followed.contains(property) }) { effects.append(.walksLinks) }
        if plan.includable(ofClass: classIndex).contains(property) { effects.append(.sendsValue) }
        return effects
    }
}
