package import SluiceModel
package import SluiceQuery

/// Says under what a follower of a query, a view or an observer, is filed, so that changes that cannot concern it do
/// not find it.
///
/// A query is filed under the most selective condition that all of its roots meet: a change of an object of the queried
/// class that did not meet it before and does not meet it after the change cannot concern the query. Changes of other
/// classes, which the predicate's paths or links reach, find it by their class. If paths or links also reach the
/// queried class itself, the condition says nothing about the objects reached, and all changes of the class find the
/// query.
package struct Filing: Sendable, Hashable {
    /// The condition; nil if every change of the class finds the query.
    package let condition: RootCondition?
    /// The queried class; nil for a query of one object by id, whose class is not known.
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

    /// Makes the filing of an observer. The observer learns by other means of changes of linked objects that its
    /// condition does not read.
    ///
    /// A condition on a property that the query excludes is not used: an object may lack the property here or have an
    /// older value of it, so that only the server can judge the condition.
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
