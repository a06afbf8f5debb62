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
    /// The properties, by class, whose changes as the reader sees them may concern a view of this shape.
    package let concernedProperties: [Int: PropertySet]
    /// ``concernedProperties`` by the position of the class.
    private let concernedByClass: [PropertySet?]
    /// ``watchedProperties`` by the position of the class.
    private let watchedByClass: [PropertySet?]
    /// The properties of results whose changes can change the results or what they link to.
    let rootProperties: PropertySet
    /// The properties, by class, whose changes may concern a view of this shape: ``concernedProperties``, and what the
    /// conditions of the reader's context read.
    let watchedProperties: [Int: PropertySet]
    /// What the conditions on objects that paths and links lead to read, by class.
    let permissionProperties: [Int: PropertySet]
    /// The classes that paths and links lead to and that are not readable whole.
    let ruledClasses: [Int]

    /// Whether the first key of the order is a property of the results themselves.
    let sortsByProperty: Bool
    /// The properties that a view includes of a result, if all results are of one class.
    private let rootIncluded: PropertySet

    /// What the reader of one of the views may read; that of the others differs in constants at most.
    let context: ReadContext
    /// A window of this shape judges so many possible roots one by one that read what a commit has changed elsewhere. It
    /// shows few of more, and finds these in its order.
    let affectedCountMax: Int

    /// - Parameters:
    ///   - schema: the schema that the form and the context were checked against.
    ///   - affectedCountMax: how many possible roots a window judges one by one because of changes elsewhere.
    init(_ form: QueryForm, in context: ReadContext, schema: Schema, affectedCountMax: Int = 1_000) {
        self.affectedCountMax = affectedCountMax
        self.form = form
        self.context = context
        self.schema = schema
        sortsByProperty = form.sort.first?.path.plainProperty != nil
        plan = ClosurePlan(form, schema: schema, hidden: context.hiddenProperties)
        rootIncluded = plan.rootProperties(ofClass: form.classIndex)
        let dependencies = form.isPartial ? form.dependencies : form.predicateDependencies
        dependents = PathDependents(dependencies)
        var properties: [Int: PropertySet] =
            form.isOfObject ? [:] : dependencies.referencedProperties(rootClass: form.classIndex)
        for classIndex in plan.rootClasses + plan.linkedClasses {
            properties[classIndex, default: []].formUnion(plan.includable(ofClass: classIndex))
        }
        concernedProperties = properties
        let permissions = PermissionReads(context, of: form, followed: plan, dependencies)
        permissionProperties = permissions.behindLinks
        ruledClasses = permissions.ruledClasses
        let watched = permissions.all.reduce(into: properties) { $0[$1.key, default: []].formUnion($1.value) }
        watchedProperties = watched
        concernedByClass = schema.classes.indices.map { properties[$0] }
        watchedByClass = schema.classes.indices.map { watched[$0] }
        rootProperties = dependencies.rootProperties.union(plan.rootProperties(ofClass: form.classIndex))
            .union(permissions.ofResult)
    }

    /// The properties that a view includes of a result of a class, apart from those that it includes of it as a linked
    /// object.
    func rootProperties(ofClass classIndex: Int) -> PropertySet {
        classIndex == form.classIndex ? rootIncluded : plan.rootProperties(ofClass: classIndex)
    }

    /// Whether views of this shape hold and send the same under a schema that has grown.
    package func isSame(under schema: Schema) -> Bool {
        let grown = ViewShape(form, in: context, schema: schema, affectedCountMax: affectedCountMax)
        return grown.plan == plan && grown.watchedProperties == watchedProperties
    }

    /// Equal for equal shapes of one schema, and different for others.
    var key: String { Self.key(of: form, in: context) }

    static func key(of form: QueryForm, in context: ReadContext) -> String {
        context.isEverything ? form.key : "\(form.key)\u{3}\(context.formKey)"
    }

    /// Whether anything in the commit, as the reader sees it, could concern a view of this shape.
    func concerns(_ commit: CommitDelta) -> Bool { commit.changes.contains(where: isConcerned) }

    /// Whether anything in the commit could concern a view of this shape, through the conditions of the reader's context
    /// too.
    package func watches(_ commit: CommitDelta) -> Bool { commit.changes.contains(where: isWatching) }

    /// Whether a change as the reader sees it could concern a view of this shape.
    private func isConcerned(by change: ObjectDelta) -> Bool { Self.isMet(concernedByClass, by: change) }

    /// Whether a change could concern a view of this shape, through the conditions of the reader's context too.
    func isWatching(_ change: ObjectDelta) -> Bool { Self.isMet(watchedByClass, by: change) }

    private static func isMet(_ propertiesByClass: [PropertySet?], by change: ObjectDelta) -> Bool {
        let classIndex = change.object.classIndex
        guard propertiesByClass.indices.contains(classIndex), let properties = propertiesByClass[classIndex] else {
            return false
        }
        return change.concerns(properties)
    }
}
