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
    let schema: Schema
    /// The properties of results whose changes count; nil if all do.
    let rootProperties: PropertySet?
    /// The covers of the query, see ``QueryCover/alternatives``. The query is filed under one of them. Empty if every
    /// change of the class finds the query.
    package let covers: [[QueryCover.Anchor]]
    /// The position of the cover that follows from what a window holds; nil if there is none.
    let windowCover: Int?
    /// Conditions on linked objects: a change of an object that meets one of them finds the query.
    let linked: [LinkedCondition]
    /// Conditions on computed values: a change of a linked object finds the query if a value meets one of them.
    let derived: [DerivedCondition]
    /// The linked objects that the query reads in a way that no condition describes. If the query is filed under a cover,
    /// their changes find it by way of the results that lead to them, else in any case.
    let chains: [QueryDependencies.LinkPath]
    /// The classes of linked objects whose changes find the query.
    let classes: [ClassEntry]
    /// What objects of other classes meet that the query's reader may see.
    let rules: [RuleCover]
    /// The object whose changes find the query, whatever its class.
    package let object: ObjectID?

    /// The filing of a view. Changes of the linked objects that the view holds find it through ``MemberTable``.
    ///
    init(_ view: LiveView) { self.init(view, upTo: view.filedWindowEnd) }

    /// - Parameter windowEnd: see ``LiveView/windowEnd``.
    init(_ view: LiveView, upTo windowEnd: Value?) {
        let query = view.query
        let cover = QueryCover(query, schema: view.schema, readsSort: query.isPartial)
        rootClass = query.object == nil ? query.classIndex : nil
        schema = view.schema
        rootProperties = view.shape.rootProperties
        let held = view.windowCover(upTo: windowEnd)
        covers = cover.alternatives + (held.map { [$0] } ?? [])
        windowCover = held.map { _ in cover.alternatives.count }
        object = query.object
        derived = cover.derived
        chains = cover.others
        guard query.object == nil else {
            (linked, rules) = (cover.linked, [])
            classes = Self.entries(view.shape.permissionProperties)
            return
        }
        rules = view.shape.ruledClasses.compactMap { classIndex in
            query.context.condition(ofClass: classIndex).map { RuleCover($0, schema: view.schema) }
        }
        linked = cover.linked + rules.flatMap(\.linked)
        classes = Self.entries(
            rules.flatMap(\.others).reduce(into: [:]) { $0[$1.targetClass, default: []].formUnion($1.properties) })
    }

    private static func entries(_ properties: [Int: PropertySet]) -> [ClassEntry] {
        properties.sorted { $0.key < $1.key }.map { ClassEntry(classIndex: $0.key, properties: $0.value) }
    }

    /// The filing of an observer. It covers changes of what matches here and of linked objects that the condition or the
    /// sort reads. What the server named is found by its membership, and changes of other linked objects reach the
    /// observer in another way.
    ///
    /// It uses no condition on a property that the query excludes: the client may lack the value or have an older one,
    /// and the server decides whether the object is a result.
    package init(observing query: Query, schema: Schema) {
        object = query.object
        self.schema = schema
        rootProperties = nil
        windowCover = nil
        guard query.object == nil else {
            (rootClass, covers, linked, derived, chains, classes, rules) = (nil, [], [], [], [], [], [])
            return
        }
        let cover = QueryCover(query, schema: schema, readsSort: true, computed: .none)
        rootClass = query.classIndex
        linked = cover.linked
        derived = cover.derived
        // A client may lack objects by which a change leads to results.
        chains = []
        rules = []
        classes = Self.entries(
            cover.others.reduce(into: [:]) { $0[$1.targetClass, default: []].formUnion($1.properties) })
        covers = cover.alternatives.filter { anchors in
            anchors.allSatisfy { anchor in
                guard case .own(let condition) = anchor else { return true }
                return !query.exclusions.excludedRootProperties.contains(condition.property)
            }
        }
    }
}

extension LiveView {
    /// The value of the first sort key up to which the view's window holds all matches. Nil if the view has no window,
    /// the window holds all matches, or the key is no property of the object itself; and where matches are counted, so
    /// that those behind the window concern the view too.
    var windowEnd: Value? {
        guard case .window(let window) = roots, let end = window.heldEnd, shape.sortsByProperty, !query.countsMatches
        else { return nil }
        return end
    }

    /// The ``windowEnd`` under which an index has filed the view.
    var filedWindowEnd: Value? {
        get { if case .window(let window) = roots { window.filedEnd } else { nil } }
        set {
            if case .window(let window) = roots { window.filedEnd = newValue }
        }
    }

    /// Conditions of which every object that the window holds meets one, as does every object that would come before
    /// its last row: a range of the first sort key.
    ///
    /// - Parameter windowEnd: see ``windowEnd``; with nil there are none.
    fileprivate func windowCover(upTo windowEnd: Value?) -> [QueryCover.Anchor]? {
        guard let boundary = windowEnd, let key = query.sort.first, case .value(let property) = key.path.leaf else {
            return nil
        }
        let end = ValueRange.Bound(boundary, isIncluded: true)
        // Null precedes every value, and only a range without a lower end has it.
        if !key.isAscending, boundary.isNull { return nil }
        let range = key.isAscending ? ValueRange(to: end) : ValueRange(from: end)
        return [.own(RootCondition(property: property, .range(query.sectionRange?.intersection(range) ?? range)))]
    }
}
