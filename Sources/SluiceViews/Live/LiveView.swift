package import SluiceModel
package import SluiceQuery

/// One canonical query kept current from commit group to commit group.
///
/// What it holds depends on the query. Without a limit, roots follow from the predicate and are not held. With a limit
/// the first rows are held, and some beyond; with DISTINCT, or SORT after LIMIT, everything that matches, or of a query
/// that begins with a limit what that leaves. If links are followed, the linked objects are held. A view is confined to
/// whatever runs its database; it does no input or output but through the source it is given.
package final class LiveView {
    package let query: Query
    package let schema: Schema
    let plan: ClosurePlan
    let evaluator: Evaluator
    let dependents: PathDependents
    /// The properties, by class, whose changes may concern the view.
    package let concernedProperties: [Int: PropertySet]
    /// Whether the view is current; see ``activate(in:)``.
    package private(set) var isActive = false

    private let overscan: Int?
    var window: Window?
    /// Of a query with stages, everything that matches, or what the first stage leaves if that is a limit.
    var chain: Chain?
    /// The window of that first stage.
    let leading: LiveView?
    var closure: LinkClosure?
    /// The object of an `OBJECT(id)` query, once it has been seen.
    var resolved: ObjectRef?

    /// - Parameters:
    ///   - query: the query, checked against `schema`.
    ///   - schema: a view serves one version of the schema; when that grows, a new view takes its place.
    ///   - overscan: how many rows beyond the limit a window holds when it has asked the source; nil for as many as the
    ///     limit, but at least 16 and at most 256.
    package init(_ query: Query, schema: Schema, overscan: Int? = nil) {
        self.overscan = overscan
        self.query = query
        self.schema = schema
        evaluator = Evaluator(query, schema: schema)
        plan = ClosurePlan(query, schema: schema)
        leading = query.leading(schema: schema).map { LiveView($0, schema: schema, overscan: overscan) }
        let dependencies = query.isPartial ? query.dependencies : query.predicateDependencies
        dependents = PathDependents(dependencies)
        var properties: [Int: PropertySet] =
            query.object == nil ? dependencies.referencedProperties(rootClass: query.classIndex) : [:]
        for classIndex in Array(plan.rootStates.keys) + plan.linkedClasses {
            properties[classIndex, default: []].formUnion(plan.includable(ofClass: classIndex))
        }
        concernedProperties = properties
    }

    /// A view of the same query in the same state, to be moved elsewhere without the other.
    init(copying other: LiveView) {
        query = other.query
        schema = other.schema
        plan = other.plan
        evaluator = other.evaluator
        dependents = other.dependents
        concernedProperties = other.concernedProperties
        isActive = other.isActive
        overscan = other.overscan
        window = other.window
        chain = other.chain
        leading = other.leading.map { LiveView(copying: $0) }
        closure = other.closure
        resolved = other.resolved
    }

    /// Whether the view keeps anything in memory: a window or linked objects.
    package var holdsMembers: Bool { query.isPartial || plan.followsLinks }

    /// Builds what the view holds from `source`, whose state the view then stands at. Reads the roots once if links are
    /// followed, a window's worth if there is a limit, else nothing.
    package func activate(in source: any ViewSource) throws {
        window = nil
        chain = nil
        closure = plan.followsLinks ? LinkClosure(plan: plan) : nil
        if let id = query.object {
            resolved = try source.object(withID: id)
            if let resolved, let row = try source.row(resolved) {
                closure?.addRoot(row, ofClass: resolved.classIndex)
            }
        } else if !query.stages.isEmpty {
            let chain = try makeChain(in: source)
            for object in chain.members where closure != nil {
                if let row = try source.row(object) { closure?.addRoot(row, ofClass: object.classIndex) }
            }
            self.chain = chain
        } else if query.limit != nil {
            let window = try makeWindow(in: source)
            for object in window?.members.map({ $0 }) ?? [] where closure != nil {
                if let row = try source.row(object) { closure?.addRoot(row, ofClass: object.classIndex) }
            }
            self.window = window
        } else if closure != nil {
            try source.rows(matching: query, after: nil, limit: nil) { row in
                closure?.addRoot(row, ofClass: query.classIndex)
                return true
            }
        }
        try closure?.finishBuilding(in: source)
        isActive = true
    }

    /// The window of a query with a limit, filled.
    func makeWindow(in source: any ViewSource) throws -> Window? {
        guard let limit = query.limit else { return nil }
        var window = Window(limit: limit, order: SortOrder(query.sort), overscan: overscan)
        try fill(&window, in: source)
        return window
    }

    /// Asks the source for the rows after the window's boundary.
    func fill(_ window: inout Window, in source: any ViewSource) throws {
        let wanted = window.capacity - window.entries.count
        var rows: [Window.Entry] = []
        try source.rows(matching: query, after: window.boundary, limit: wanted) { row in
            rows.append(
                .init(position: try position(of: row, in: source), object: ObjectRef(query.classIndex, row.key)))
            return rows.count < wanted
        }
        window.refill(with: rows, asked: wanted)
    }

    /// Where a root stands in the query's order.
    package func position(of row: Row, in source: any ObjectSource) throws -> SortPosition {
        SortPosition(
            values: try evaluator.sortValues(of: row, in: source),
            id: Identity(className: query.className, key: row.key).objectID)
    }
}
