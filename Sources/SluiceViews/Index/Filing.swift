package import SluiceModel
package import SluiceQuery

/// Under what something that follows a query is filed, so that changes which cannot concern it do not find it.
package struct Filing: Sendable {
    /// Changes of a class that find the query whatever the object is.
    struct ClassEntry: Hashable, Sendable {
        let classIndex: Int
        /// The properties that matter; nil if all do. That an object comes or goes always matters.
        let properties: PropertySet?
    }

    /// The queried class; nil for a query of one object by id, which may be of any class.
    package let rootClass: Int?
    /// Which changes of results matter; nil if all do.
    let rootProperties: PropertySet?
    /// Ways to know results, see ``QueryCover/alternatives``; empty if every change of the class finds the query.
    package let covers: [[QueryCover.Anchor]]
    /// Conditions on objects that comparisons find behind links.
    let linked: [LinkedCondition]
    /// Classes whose changes find the query, beyond the queried one.
    let classes: [ClassEntry]
    /// The object whose changes find the query, whatever its class.
    package let object: ObjectID?

    /// How a view is filed; objects that it holds as linked find it beside that.
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

    /// How an observer is filed that learns of changes of linked objects, beyond those its condition reads, by other ways.
    ///
    /// A condition does not count where it reads a property that the query excludes: the object may lack it here, or
    /// have it as of some other time, and the server's word stands. Nor does one on linked objects, which may be missing.
    package init(observing query: Query, schema: Schema) {
        object = query.object
        rootProperties = nil
        linked = []
        guard query.object == nil else {
            (rootClass, covers, classes) = (nil, [], [])
            return
        }
        let reached = Set(query.dependencies.linkPaths.map(\.targetClass))
        rootClass = query.classIndex
        classes = reached.sorted().map { ClassEntry(classIndex: $0, properties: nil) }
        covers = QueryCover(query, schema: schema, readsSort: false).alternatives.filter { anchors in
            anchors.allSatisfy { anchor in
                guard case .own(let condition) = anchor else { return false }
                return !query.exclusions.excludedRootProperties.contains(condition.property)
            }
        }
    }
}

extension LiveView {
    /// The properties of results whose changes matter for being results.
    fileprivate var rootProperties: PropertySet {
        let dependencies = query.isPartial ? query.dependencies : query.predicateDependencies
        return dependencies.rootProperties.union(plan.rootProperties(ofClass: query.classIndex))
    }
}
