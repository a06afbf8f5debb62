import SluiceModel
import SluiceQuery

/// Conditions of which an object of one class meets one if the reader of a query may see it: a change can show or hide
/// only objects that meet one of them before it or after it.
struct RuleCover {
    let classIndex: Int
    /// Empty if every object may be readable.
    let anchors: [QueryCover.Anchor]
    /// What the rule reads of the object.
    let properties: PropertySet
    /// Conditions on the linked objects that the rule reads.
    let linked: [LinkedCondition]
    /// The linked objects that the rule reads in other ways.
    let others: [QueryDependencies.LinkPath]

    /// - Parameter rule: what is readable of a class.
    init(_ rule: Query, schema: Schema) {
        let cover = QueryCover(rule, schema: schema, readsSort: false, computed: .none)
        classIndex = rule.classIndex
        anchors = cover.alternatives.first ?? []
        properties = rule.predicateDependencies.rootProperties
        linked = cover.linked
        others = cover.others
    }
}
