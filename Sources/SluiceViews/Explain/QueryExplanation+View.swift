package import SluiceModel
package import SluiceQuery

extension QueryExplanation {
    /// Explains a query. It makes a view, but does not activate it, and reads no data.
    ///
    /// - Parameters:
    ///   - plan: how the store at hand runs the query; nil for a query of one object by its id.
    ///   - wantedIndexes: the indexes that a server would add.
    ///   - wantedIndexRemark: why the server has not added them.
    package init(
        _ query: Query, schema: Schema, plan: Plan?, wantedIndexes: [Index], wantedIndexRemark: String? = nil
    ) {
        let live = LiveView(query, schema: schema)
        self.query = query.canonicalText
        hash = query.hash.description
        self.plan = plan
        view = View(live)
        writes = live.concernedProperties.keys.sorted { $0 == query.classIndex || $1 != query.classIndex && $0 < $1 }
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
        let filing = Filing(live)
        method =
            switch filing.condition?.test {
            case .equal: .equality
            case .isIn: .list
            case .prefix: .prefix
            case .range: .range
            case nil: .scan
            }
        property = filing.condition.map { schema[live.query.classIndex].properties[$0.property].name }
        condition = filing.condition?.text(in: schema[live.query.classIndex])
        otherClasses = filing.wholeClasses.filter { $0 != filing.rootClass }.map { schema[$0].name }
        holdsMembers = live.holdsMembers
        windowCapacity = live.query.limit.map { Window(limit: $0, order: SortOrder([]), overscan: nil).capacity }
        linkedClasses = live.plan.linkedClasses.sorted().map { schema[$0].name }
    }
}

extension LiveView {
    /// What a write to one property of an object makes the view do.
    fileprivate func effects(ofWriting property: Int, ofClass classIndex: Int) -> [QueryExplanation.Effect] {
        var effects: [QueryExplanation.Effect] = []
        if classIndex == query.classIndex {
            if query.predicateDependencies.rootProperties.contains(property) { effects.append(.evaluatesPredicate) }
            if query.limit != nil, query.sortDependencies.rootProperties.contains(property) {
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
