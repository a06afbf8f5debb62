package import SluiceModel
package import SluiceQuery

/// The conditions that a view or an observer is filed under in a ``FilingTable``, so that changes that cannot concern
/// its query do not find it.
package struct Filing: Sendable {
    /// A class whose changes find the query, whichever object they change.
    struct ClassEntry: Hashable, Sendable {
        let classIndex: Int
        /// Only changes of these properties count; nil if all do. Creations and deletions always count.
        let properties: PropertySet?
    }

    /// The queried class; nil for a query of one object by id, which may be of any class.
    package let rootClass: Int?
    /// The properties of results whose changes count; nil if all do.
    let rootProperties: PropertySet?
    /// The covers of the query, see ``QueryCover/alternatives``. The query is filed under one of them. Empty if every
    /// change of the class finds the query.
    package let covers: [[QueryCover.Anchor]]
    /// Conditions on linked objects: a change of an object that meets one of them finds the query.
    let linked: [LinkedCondition]
    /// The classes of linked objects whose changes find the query.
    let classes: [ClassEntry]
    /// The object whose changes find the query, whatever its class.
    package let object: ObjectID?

    /// The filing of a view. Changes of the linked objects that the view holds find it through ``MemberTable``.
    init(_ view: LiveView) {
        let query = view.query
        let cover = QueryCover(query, schema: view.schema, readsSort: query.isPartial)
        rootClass = query.object == nil ? query.classIndex : nil
        rootProperties = view.rootProperties
        covers = cover.alternatives
        linked = cover.linked
        classes = cover.others.sorted { $0.key < $1.key }.map { ClassEntry(classIndex: $0.key, properties: $0.value) }
        object = query.object
    }

    /// The filing of an observer. It covers changes of what matches here and of linked objects that the condition or the
    /// sort reads. What the server named is found by its membership, and changes of other linked objects reach the
    /// observer in another way.
    ///
    /// It uses no condition on a property that the query excludes: the client may lack the value or have an older one,
    /// and the server decides whether the object is a result.
    package init(observing query: Query, schema: Schema) {
        object = query.object
        rootProperties = nil
        guard query.object == nil else {
            (rootClass, covers, linked, classes) = (nil, [], [], [])
            return
        }
        let cover = QueryCover(query, schema: schema, readsSort: true)
        rootClass = query.classIndex
        linked = cover.linked
        classes = cover.others.sorted { $0.key < $1.key }.map { ClassEntry(classIndex: $0.key, properties: $0.value) }
        covers = cover.alternatives.filter { anchors in
            anchors.allSatisfy { anchor in
                guard case .own(let condition) = anchor else { return true }
                return !query.exclusions.excludedRootProperties.contains(condition.property)
            }
        }
    }
}

extension LiveView {
    /// The properties of results whose changes can change the results or what they link to.
    fileprivate var rootProperties: PropertySet {
        let dependencies = query.isPartial ? query.dependencies : query.predicateDependencies
        return dependencies.rootProperties.union(plan.rootProperties(ofClass: query.classIndex))
    }
}
