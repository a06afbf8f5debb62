package import SluiceModel
package import SluiceQuery

/// Keeps the result of one canonical query current from commit group to commit group.
///
/// What a view holds depends on the query. Without a limit, it holds no roots, since the predicate decides what is a
/// root. With a limit, it holds the first rows and some beyond them. With DISTINCT, or SORT after LIMIT, it holds
/// everything that matches or, if the first stage is a limit, everything that this limit leaves. If the query follows
/// links, the view holds the linked objects. Only the thread that runs the database may use a view. A view reads only
/// from the source that it is given.
package final class LiveView {
    package let query: Query
    package let schema: Schema
    let plan: ClosurePlan
    let evaluator: Evaluator
    let dependents: PathDependents
    /// The properties, by class, whose changes may concern the view.
    package let concernedProperties: [Int: PropertySet]
    /// Whether the view is at the current state; see ``activate(in:)``.
    package private(set) var isActive = false

    private let overscan: Int?
    var window: Window?
    /// All matches of a query with stages, or, if the first stage is a limit, what that limit leaves.
    var chain: Chain?
    /// A view of the query's first stage, if that is a limit; its window is what the limit leaves.
    let leading: LiveView?
    var closure: LinkClosure?
    /// The object of an `OBJECT(id)` query, once it is known.
    var resolved: ObjectRef?

    /// - Parameters:
    ///   - query: the query, checked against `schema`.
    ///   - schema: the schema of the view. When the schema grows, a new view replaces this one.
    ///   - overscan: how many rows beyond the limit a window holds after it has read from the source; nil for as many
    ///     as the limit, but at least 16 and at most 256.
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

    /// A copy of a view in the same state, which can then change independently.
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

    /// Reads from `source` what the view holds; the view is then at the state of `source`. It reads all roots if the
    /// query follows links, the rows of a window if there is a limit, and else nothing.
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
            try closure?.addRoots(matching: query, in: source)
        }
        try closure?.finishBuilding(in: source)
        isActive = true
    }

    /// Makes the window of a query with a limit, and fills it.
    func makeWindow(in source: any ViewSource) throws -> Window? {
        guard let limit = query.limit else { return nil }
        var window = Window(limit: limit, order: SortOrder(query.sort), overscan: overscan)
        try fill(&window, in: source)
        return window
    }

    /// Fills a window with the rows after its boundary.
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

    /// The position of a root in the query's order.
    package func position(of row: Row, in source: any ObjectSource) throws -> SortPosition {
        SortPosition(
            values: try evaluator.sortValues(of: row, in: source),
            id: Identity(className: query.className, key: row.key).objectID)
    }
}
