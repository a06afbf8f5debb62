internal import SluiceModel
package import SluiceQuery

extension ReadContext {
    /// The classes on whose conditions it depends what a query finds: that of the results, and those that its paths lead
    /// to and whose links it follows.
    ///
    /// - Returns: nil if these may be any.
    package func classes(reachedBy query: Query) -> Set<Int>? {
        guard query.object == nil else { return nil }
        let form = query.form
        let dependencies = form.isPartial ? form.dependencies : form.predicateDependencies
        let followed = ClosurePlan(form, schema: schema, hidden: hiddenProperties).linkedClasses
        return Set(followed).union(dependencies.linkPaths.map(\.targetClass)).union([form.classIndex])
    }
}
