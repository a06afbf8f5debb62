import SluiceModel
import SluiceQuery

/// What the conditions of a reader's context read, as far as they can concern the views of one shape.
struct PermissionReads {
    /// What the condition on the queried class reads of a result itself.
    private(set) var ofResult: PropertySet = []
    /// By class, what the other conditions read, and all that any of them reads behind links.
    private(set) var behindLinks: [Int: PropertySet] = [:]
    private var resultClass: Int?
    /// The classes with a condition that paths and links lead to.
    private(set) var ruledClasses: [Int] = []

    /// Everything, by class.
    var all: [Int: PropertySet] {
        var all = behindLinks
        if let resultClass { all[resultClass, default: []].formUnion(ofResult) }
        return all
    }

    /// - Parameters:
    ///   - form: the form of the views' queries.
    ///   - plan: the links that the views follow.
    ///   - dependencies: what the queries read.
    init(_ context: ReadContext, of form: QueryForm, followed plan: ClosurePlan, _ dependencies: QueryDependencies) {
        guard !context.isEverything else { return }
        let read = Set(plan.linkedClasses).union(dependencies.linkPaths.map(\.targetClass))
            .union(context.linkTargets(namedBy: dependencies, of: form.classIndex))
        for classIndex in context.classes {
            // Of what is computed over, nothing is included, and yet whether it may be read decides.
            let isRoot =
                plan.rootState(ofClass: classIndex) != nil
                || form.aggregates != nil && classIndex == form.classIndex
            guard isRoot || read.contains(classIndex),
                let reads = context.condition(ofClass: classIndex)?.predicateDependencies
            else { continue }
            // An object asked for by its id is found by the id, whatever changes.
            if isRoot, !form.isOfObject {
                resultClass = classIndex
                ofResult = reads.rootProperties
            }
            if read.contains(classIndex) || form.isOfObject {
                behindLinks[classIndex, default: []].formUnion(reads.rootProperties)
                if read.contains(classIndex) { ruledClasses.append(classIndex) }
            }
            for path in reads.linkPaths { behindLinks[path.targetClass, default: []].formUnion(path.properties) }
        }
    }
}
