internal import SluiceModel
package import SluiceQuery

/// Under what a live view is filed in the index of views.
///
/// A view is filed under the most selective condition that each of its roots meets: a change of the queried class that
/// met it neither before nor after cannot concern the view. Changes of other classes, reached by the predicate's paths
/// or by links, find it by their class. Where the queried class is itself among those, its condition says nothing of
/// linked objects, and the view is found by the class alone.
package struct ViewFiling: Sendable, Hashable {
    /// Nil if every change of the class finds the view.
    package let condition: RootCondition?
    /// The queried class; nil for a query of one object by id, which may be of any class.
    package let rootClass: Int?
    /// The classes whose changes all find the view, ascending.
    package let wholeClasses: [Int]

    init(_ view: LiveView) {
        let query = view.query
        var classes = Set(view.concernedProperties.keys)
        rootClass = query.object == nil ? query.classIndex : nil
        let isReached =
            view.plan.linkedStates[query.classIndex] != nil
            || query.dependencies.linkPaths.contains { $0.targetClass == query.classIndex }
        condition =
            query.object == nil && !isReached ? query.rootConditions(schema: view.schema).first : nil
        if condition != nil { classes.remove(query.classIndex) }
        wholeClasses = classes.sorted()
    }
}
