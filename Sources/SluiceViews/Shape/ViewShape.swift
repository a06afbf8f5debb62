package import SluiceModel
package import SluiceQuery

/// What all views of one form have in common: how they judge objects, which links they follow, and which changes can
/// concern them. A view adds its constants and its state.
///
/// Immutable, so views on several threads may share one.
package final class ViewShape: Sendable {
    package let form: QueryForm
    package let schema: Schema
    let plan: ClosurePlan
    let dependents: PathDependents
    /// The properties, by class, whose changes may concern a view of this shape.
    package let concernedProperties: [Int: PropertySet]
    /// The properties of results whose changes can change the results or what they link to.
    let rootProperties: PropertySet

    /// - Parameter schema: the schema that queries of the form are checked against.
    init(_ form: QueryForm, schema: Schema) {
        self.form = form
        self.schema = schema
        plan = ClosurePlan(form, schema: schema)
        let dependencies = form.isPartial ? form.dependencies : form.predicateDependencies
        dependents = PathDependents(dependencies)
        var properties: [Int: PropertySet] =
            form.isOfObject ? [:] : dependencies.referencedProperties(rootClass: form.classIndex)
        for classIndex in Array(plan.rootStates.keys) + plan.linkedClasses {
            properties[classIndex, default: []].formUnion(plan.includable(ofClass: classIndex))
        }
        concernedProperties = properties
        rootProperties = dependencies.rootProperties.union(plan.rootProperties(ofClass: form.classIndex))
    }

    /// Whether views of this shape hold and send the same under a schema that has grown.
    package func isSame(under schema: Schema) -> Bool {
        let grown = ViewShape(form, schema: schema)
        return grown.plan == plan && grown.concernedProperties == concernedProperties
    }

    /// Whether anything in the commit could concern a view of this shape.
    package func concerns(_ commit: CommitDelta) -> Bool {
        commit.changes.contains { change in
            concernedProperties[change.object.classIndex].map(change.concerns) ?? false
        }
    }
}
