package import SluiceModel
package import SluiceQuery

/// Under what something that follows a query is filed, so that changes which cannot concern it do not find it.
///
/// A query is filed under the most selective condition that each of its roots meets: a change of the queried class that
/// met it neither before nor after cannot concern the query. Changes of other classes, reached by the predicate's paths
/// or by links, find it by their class. Where the queried class is itself among those, its condition says nothing of
/// linked objects, and the query is found by the class alone.
package struct Filing: Sendable, Hashable {
    /// Nil if every change of the class finds the query.
    package let condition: RootCondition?
    /// The queried class; nil for a query of one object by id, which may be of any class.
    package let rootClass: Int?
    /// The classes whose changes all find the query, ascending.
    package let wholeClasses: [Int]
    /// The object whose changes find the query, whatever its class.
    package let object: ObjectID?

    init(_ view: LiveView) {
        let query = view.query
        let isReached =
            view.plan.linkedStates[query.classIndex] != nil || query.dependencies.reach(classIndex: query.classIndex)
        self.init(
            query, schema: view.schema, classes: Set(view.concernedProperties.keys),
            usesCondition: query.object == nil && !isReached, object: nil)
    }

    /// How an observer is filed that learns of changes of linked objects, beyond those its condition reads, by other ways.
    ///
    /// The condition does not count where it reads a property that the query excludes: the object may lack it here, or
    /// have it as of some other time, and the server's word stands.
    package init(observing query: Query, schema: Schema) {
        if let object = query.object {
            self.init(query, schema: schema, classes: [], usesCondition: false, object: object)
            return
        }
        let reached = Set(query.dependencies.linkPaths.map(\.targetClass))
        self.init(
            query, schema: schema, classes: reached.union([query.classIndex]),
            usesCondition: !reached.contains(query.classIndex), object: nil,
            unless: query.exclusions.excludedRootProperties)
    }

    private init(
        _ query: Query, schema: Schema, classes: Set<Int>, usesCondition: Bool, object: ObjectID?,
        unless excluded: PropertySet = []
    ) {
        rootClass = query.object == nil ? query.classIndex : nil
        self.object = object
        let conditions = usesCondition ? query.rootConditions(schema: schema) : []
        condition = conditions.first { !excluded.contains($0.property) }
        wholeClasses = (condition == nil ? classes : classes.subtracting([query.classIndex])).sorted()
    }
}

extension QueryDependencies {
    fileprivate func reach(classIndex: Int) -> Bool { linkPaths.contains { $0.targetClass == classIndex } }
}
